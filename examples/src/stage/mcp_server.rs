//! A server of the Model Context Protocol, in this process or over its standard streams: one
//! message of JSON-RPC a line.

use serde_json::{Value, json};
use temporal_agents::mcp::McpTransport;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, split};

/// A function that returns the server's result for a method and its parameters; `None` if the
/// server does not have the method.
pub type Answer = fn(&str, &Value) -> Option<Value>;

/// Returns the transport to an in-process server that answers with this function.
pub fn in_process(answer: Answer) -> McpTransport {
    McpTransport::in_process(move || {
        let (client, server) = tokio::io::duplex(64 * 1024);
        tokio::spawn(serve(server, answer));
        client
    })
}

/// Serves one client until it is gone.
///
/// # Errors
/// The client cannot be read from or written to.
pub async fn serve(stream: impl AsyncRead + AsyncWrite, answer: Answer) -> std::io::Result<()> {
    let (read, mut write) = split(stream);
    let mut lines = BufReader::new(read).lines();
    while let Some(line) = lines.next_line().await? {
        let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
        // A message without an id is a notification, which has no answer.
        let Some(id) = message.get("id") else { continue };
        let answer = match answer(message["method"].as_str().unwrap_or_default(), &message["params"]) {
            Some(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            None => json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no such method"}}),
        };
        write.write_all(format!("{answer}\n").as_bytes()).await?;
        write.flush().await?;
    }
    Ok(())
}
