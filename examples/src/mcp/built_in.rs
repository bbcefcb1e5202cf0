//! A server in this process, for users without one: one JSON-RPC message per line. A real server is
//! better built with an SDK of the protocol; this one shows all messages.

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
            "serverInfo": {"name": "built-in", "version": "1"},
        })),
        "ping" => Some(json!({})),
        "tools/list" => Some(json!({"tools": [{
            "name": "roman",
            "description": "Writes a number from 1 to 3999 as the Romans did.",
            "inputSchema": {
                "type": "object",
                "properties": {"number": {"type": "integer", "minimum": 1, "maximum": 3999}},
                "required": ["number"],
            },
            "annotations": {"readOnlyHint": true},
        }]})),
        "tools/call" => Some(match params["arguments"]["number"].as_u64() {
            Some(number) if (1..4000).contains(&number) => {
                json!({"content": [{"type": "text", "text": roman(number)}]})
            }
            _ => json!({"content": [{"type": "text", "text": "The Romans had no such number."}], "isError": true}),
        }),
        _ => None,
    }
}

fn roman(mut number: u64) -> String {
    const SIGNS: [(u64, &str); 13] = [
        (1000, "M"),
        (900, "CM"),
        (500, "D"),
        (400, "CD"),
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ];
    let mut written = String::new();
    for (value, sign) in SIGNS {
        while number >= value {
            written.push_str(sign);
            number -= value;
        }
    }
    written
}
