use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, duplex};

use super::{Connections, McpServers, On, Repeat, lock};
use crate::mcp::McpTransport;

const PATIENCE: Duration = Duration::from_secs(30);

/// A server that responds to `initialize` and `ping`.
async fn serve(stream: DuplexStream) -> std::io::Result<()> {
    let (read, mut write) = tokio::io::split(stream);
    let mut lines = BufReader::new(read).lines();
    while let Some(line) = lines.next_line().await? {
        let message: Value = serde_json::from_str(&line)?;
        if message["id"].is_null() {
            continue;
        }
        let result = if message["method"] == "initialize" {
            let version = &message["params"]["protocolVersion"];
            json!({"protocolVersion": version, "capabilities": {}, "serverInfo": {"name": "small", "version": "1"}})
        } else {
            json!({"tools": []})
        };
        let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
        write.write_all(format!("{answer}\n").as_bytes()).await?;
    }
    Ok(())
}

fn servers(transport: McpTransport) -> McpServers {
    let mut servers = McpServers::default();
    servers.close_after(Duration::from_millis(10));
    servers.add("small".to_owned(), transport);
    servers
}

async fn list(server: &Connections, argument: &Value) -> bool {
    let listing = |peer: rmcp::Peer<rmcp::RoleClient>, _client| async move { peer.list_tools(None).await };
    server.ask(On::Shared(Some(argument)), Repeat::Harmless, listing).await.is_ok()
}

#[tokio::test]
async fn a_connection_that_was_closed_leaves_nothing() {
    let servers = servers(McpTransport::in_process(|| {
        let (ours, theirs) = duplex(4096);
        tokio::spawn(serve(theirs));
        ours
    }));
    let server = servers.get("small").unwrap();
    for user in 0..10 {
        assert!(list(server, &json!({ "user": user })).await);
    }
    let begun = Instant::now();
    while !lock(&server.slots).is_empty() {
        assert!(begun.elapsed() < PATIENCE, "{} are left", lock(&server.slots).len());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_connection_that_could_not_be_opened_leaves_nothing() {
    let servers = servers(McpTransport::in_process(|| duplex(4096).0));
    let server = servers.get("small").unwrap();
    for user in 0..10 {
        assert!(!list(server, &json!({ "user": user })).await);
    }
    assert_eq!(lock(&server.slots).len(), 0);
}
