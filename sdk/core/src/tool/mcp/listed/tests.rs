use std::sync::Arc;

use rstest::rstest;
use serde_json::{Value, json};

use super::{McpServer, shown_names};
use crate::{
    tool::{ToolBinding, ToolDef},
    wire::McpTool,
};

fn listed(annotations: Value) -> McpTool {
    let tool = json!({"name": "read", "inputSchema": {"type": "object"}, "annotations": annotations});
    serde_json::from_value(tool).unwrap()
}

fn attempts(tool: &ToolDef) -> u32 {
    let ToolBinding::Mcp(binding) = tool.binding() else { panic!("{tool:?}") };
    binding.options().attempts()
}

#[rstest]
#[case::what_the_server_says_nothing_of(json!({}), 3)]
#[case::what_it_calls_idempotent(json!({"idempotentHint": true, "destructiveHint": true}), 3)]
#[case::what_only_reads(json!({"readOnlyHint": true, "idempotentHint": false}), 3)]
#[case::what_it_calls_not_idempotent(json!({"idempotentHint": false}), 1)]
#[case::what_it_calls_destructive(json!({"destructiveHint": true}), 1)]
fn a_call_is_repeated_unless_the_server_warns(#[case] annotations: Value, #[case] expected: u32) {
    let tools = Arc::new(McpServer::named("files")).tools(&[listed(annotations)]);
    assert_eq!(tools.iter().map(attempts).collect::<Vec<_>>(), [expected]);
}

#[rstest]
#[case::plain("", "read_file", "read_file")]
#[case::with_a_prefix("files-", "read", "files-read")]
#[case::with_what_models_refuse("", "fs/read.file v2", "fs_read_file_v2")]
#[case::too_long(
    "a-prefix-that-takes-most-of-the-room-",
    "and_a_name_that_does_not_fit_any_more",
    "a-prefix-that-takes-most-of-the-room-and_a_name_that_do_5bbfaacd"
)]
fn a_name_fits_models(#[case] prefix: &str, #[case] name: &str, #[case] shown: &str) {
    assert_eq!(shown_names(prefix, [name].into_iter()), [shown]);
}

#[test]
fn names_that_become_one_are_kept_apart() {
    let shown = |names: &[&str]| shown_names("", names.iter().copied());
    assert_eq!(shown(&["files.read", "files_read", "list"]), ["files_read_601e4eb6", "files_read", "list"]);
    assert_eq!(shown(&["a.b", "a/b"]), ["a_b_2e7336dc", "a_b_c14cddc0"]);
}

#[test]
fn a_schema_without_properties_gets_empty_ones() {
    let tools = Arc::new(McpServer::named("files")).tools(&[listed(json!({}))]);
    assert_eq!(tools[0].parameters(), &json!({"type": "object", "properties": {}}));
}

#[test]
fn names_decide_what_is_offered() {
    let named = |name: &str| McpTool { name: name.to_owned(), ..listed(json!({})) };
    let server = McpServer::named("files").only(["read", "write"]).without(["write"]);
    let tools = Arc::new(server).tools(&[named("list"), named("read"), named("write")]);
    assert_eq!(tools.iter().map(ToolDef::name).collect::<Vec<_>>(), ["read"]);
}

#[rstest]
#[case::left_out(json!({"name": "ping"}))]
#[case::null(json!({"name": "ping", "inputSchema": null}))]
#[case::bare(json!({"name": "ping", "inputSchema": {}}))]
fn a_tool_without_a_schema_takes_any_object(#[case] listed: Value) {
    let listed: McpTool = serde_json::from_value(listed).unwrap();
    let tools = Arc::new(McpServer::named("files")).tools(&[listed]);
    assert_eq!(*tools[0].parameters(), json!({"type": "object", "properties": {}}));
    assert_eq!(tools[0].description(), "");
}
