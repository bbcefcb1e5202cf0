//! An MCP server in this process: one message of JSON-RPC a line, and one tool, which does as it is asked to.

use serde_json::{Value, json};
use temporal_agents::mcp::McpTransport;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, split};

use super::{
    bodies::{LARGE, begins},
    cells::{Binding, Cell},
};

/// The name of the server of a cell. One that dies takes its connection with it, so that no two cells share one.
pub(super) fn server(cell: Cell) -> String {
    cell.agent().replace(' ', "_")
}

/// How the worker reaches it.
pub(super) fn transport(cell: Cell) -> McpTransport {
    McpTransport::in_process(move || {
        let (client, server) = tokio::io::duplex(64 * 1024);
        tokio::spawn(serve(cell, server));
        client
    })
}

/// Serves one client until it is gone, or the server dies.
async fn serve(cell: Cell, stream: impl AsyncRead + AsyncWrite) -> std::io::Result<()> {
    let (read, mut write) = split(stream);
    let mut lines = BufReader::new(read).lines();
    while let Some(line) = lines.next_line().await? {
        let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
        // What has no id is a notification, and wants no answer.
        let Some(id) = message.get("id") else { continue };
        let params = &message["params"];
        let result = match message["method"].as_str().unwrap_or_default() {
            "initialize" => json!({
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "matrix", "version": "1"},
            }),
            "tools/list" => json!({"tools": [{
                "name": cell.tool(),
                "description": "Does as it is asked to.",
                "inputSchema": {"type": "object", "properties": {"how": {"type": "string"}}, "required": ["how"]},
                "annotations": {"idempotentHint": cell.binding == Binding::Mcp},
            }]}),
            "tools/call" => match params["arguments"]["how"].as_str().unwrap_or_default() {
                "error" => json!({"content": [{"type": "text", "text": "the saw is blunt"}], "isError": true}),
                // It dies.
                "panic" => return Ok(()),
                "oversized" => json!({"content": [{"type": "text", "text": "x".repeat(LARGE)}]}),
                "timeout" | "cancelled" => {
                    begins(&cell.tool());
                    continue;
                }
                _ => json!({"content": [{"type": "text", "text": "fine"}]}),
            },
            _ => json!({}),
        };
        let answer = json!({"jsonrpc": "2.0", "id": id, "result": result});
        write.write_all(format!("{answer}\n").as_bytes()).await?;
    }
    Ok(())
}
