//! The MCP server of the operations team: its data and its actions. It stands in for a server that
//! queries real systems.

use serde_json::{Value, json};
use temporal_agents::mcp::McpTransport;

use crate::stage::mcp_server::in_process;

/// Returns the transport to the server.
pub fn transport() -> McpTransport {
    in_process(answer)
}

fn answer(method: &str, params: &Value) -> Option<Value> {
    match method {
        "initialize" => Some(json!({
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "operations", "version": "1"},
        })),
        "ping" => Some(json!({})),
        "tools/list" => Some(json!({"tools": [
            tool("metrics", "How a service is doing.", true),
            tool("deploys", "What was deployed lately.", true),
            tool("restart", "Restarts a service; its users wait for some seconds.", false),
        ]})),
        "tools/call" => {
            let service = params["arguments"]["service"].as_str().unwrap_or_default();
            Some(match (params["name"].as_str().unwrap_or_default(), service) {
                ("metrics", "checkout") => said("97 % of all connections to the database are in use, and rising"),
                ("deploys", "checkout") => said("v42, 20 minutes ago: \"Keep connections open\""),
                ("restart", "checkout") => said("restarted; 12 % of all connections are in use"),
                _ => json!({"content": [{"type": "text", "text": "no such service"}], "isError": true}),
            })
        }
        _ => None,
    }
}

fn tool(name: &str, description: &str, reads: bool) -> Value {
    json!({
        "name": name,
        "description": description,
        "inputSchema": {
            "type": "object",
            "properties": {"service": {"type": "string"}},
            "required": ["service"],
        },
        "annotations": {"readOnlyHint": reads},
    })
}

fn said(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}
