//! The messages as files of the protocol, as other implementations write them, and as nobody does.

use std::{fs, path::Path};

use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents_core::wire::RemoteTool;

use super::{MAX_BYTES, Registration, Toolset};
use crate::remote::transport::{Entry, MemoryTransport, Streams};

async fn entry(event: &str, payload: impl Into<Vec<u8>>) -> Entry {
    let streams = MemoryTransport::new();
    let append = crate::remote::transport::Append::new().entry("s", event, payload);
    streams.append(append).await.expect("appended");
    streams.read("s", None, 1, std::time::Duration::ZERO).await.expect("readable").remove(0)
}

/// Compares the payload of a message with a file of one line, in both directions and byte for byte.
async fn is_the_file(name: &str, message: &Registration) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/toolregistry").join(name);
    let file = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let payload = message.payload().expect("JSON");
    assert_eq!(String::from_utf8(payload).expect("UTF-8") + "\n", file);
    let read = Registration::read(&entry(message.event(), file).await);
    assert_eq!(read.as_ref(), Ok(&Some(message.clone())));
}

#[tokio::test]
async fn a_message_is_the_json_of_the_protocol() {
    let path = json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
    let tools = [
        RemoteTool::new("read", "Reads a file.", path.clone())
            .tags(["local"])
            .result_schema(json!({"type": "string"}))
            .idempotent(),
        RemoteTool::new("delete", "Deletes a file.", path),
    ];
    let toolset =
        Toolset::new("files", "1.2.0-rc.1+5").description("Files of the project.").tags(["project", "io"]).tools(tools);
    is_the_file("register.json", &Registration::Register(Box::new(toolset))).await;
    is_the_file("unregister.json", &Registration::Unregister { name: "files".to_owned() }).await;
    let pong = Registration::Pong { toolset: "files".to_owned(), ping_id: "p-1".to_owned() };
    is_the_file("pong.json", &pong).await;
}

#[tokio::test]
async fn nulls_and_unknown_members_are_read() {
    let json = json!({
        "name": "files", "description": null, "version": "1.0.0", "tags": null, "registered_at": null, "stream_id": "s",
        "tools": [null, {
            "name": "read", "description": null, "tags": [null, "io"], "payload_schema": null, "result_schema": null,
            "sidecar_schema": {}, "idempotent": null,
        }],
    });
    let read = Registration::read(&entry("register", json.to_string()).await);
    let any = json!({"type": "object", "properties": {}});
    let toolset = Toolset::new("files", "1.0.0").tools([RemoteTool::new("read", "", any).tags(["io"])]);
    assert_eq!(read, Ok(Some(Registration::Register(Box::new(toolset)))));
    let read = Registration::read(&entry("pong", r#"{"toolset": "files", "ping_id": null}"#).await);
    assert_eq!(read, Ok(Some(Registration::Pong { toolset: "files".to_owned(), ping_id: String::new() })));
}

#[rstest]
#[case("register", json!({"version": "1.0.0"}))]
#[case("register", json!({"name": "files", "tools": "read"}))]
#[case("register", json!({"name": "files", "tools": [{}]}))]
#[case("register", json!([]))]
#[case("unregister", json!({}))]
#[case("pong", json!({"ping_id": "p-1"}))]
#[tokio::test]
async fn what_is_no_message_is_refused(#[case] event: &str, #[case] json: Value) {
    Registration::read(&entry(event, json.to_string()).await).expect_err("it is none");
}

#[tokio::test]
async fn a_message_that_is_large_or_deep_is_refused_and_one_of_a_later_release_is_skipped() {
    let large = format!(r#"{{"toolset": "files", "ping_id": "{}"}}"#, "p".repeat(MAX_BYTES));
    let refused = Registration::read(&entry("pong", large).await).expect_err("it is large");
    assert_eq!(refused, "it has 262179 bytes, the limit is 262144");
    let schema = format!("{}1{}", "[".repeat(1000), "]".repeat(1000));
    let deep = format!(r#"{{"name": "files", "tools": [{{"name": "read", "payload_schema": {schema}}}]}}"#);
    Registration::read(&entry("register", deep).await).expect_err("it is deep");
    assert_eq!(Registration::read(&entry("drain", "{").await), Ok(None));
}
