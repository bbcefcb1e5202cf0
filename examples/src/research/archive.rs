//! The archive: a server of the Model Context Protocol with the yearbooks of a garden.
//!
//! It runs as a child process of the worker and speaks over standard input and output, as most
//! servers of the protocol do. When the worker is killed, the input ends, and so does the server.

use std::{io, ops::RangeInclusive};

use serde_json::{Value, json};
use temporal_agents::mcp::McpTransport;

use crate::stage::mcp_server::serve;

/// The years that have a yearbook.
pub const YEARS: RangeInclusive<u16> = 2001..=2018;

/// The argument with which the example's program is this server.
pub const ARGUMENT: &str = "archive";

/// Returns the transport to a process of this program that runs [`serve_stdio`].
///
/// # Errors
/// The path of this program is unknown.
pub fn transport() -> io::Result<McpTransport> {
    Ok(McpTransport::stdio(std::env::current_exe()?, [ARGUMENT]).into())
}

/// Serves the archive over standard input and output until the input ends.
///
/// # Errors
/// The client cannot be read from or written to.
pub async fn serve_stdio() -> io::Result<()> {
    serve(tokio::io::join(tokio::io::stdin(), tokio::io::stdout()), answer).await
}

/// Returns the result of a method; `None` for a method that the server does not have.
pub fn answer(method: &str, params: &Value) -> Option<Value> {
    match method {
        "initialize" => Some(json!({
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "archive", "version": "1"},
        })),
        "ping" => Some(json!({})),
        "tools/list" => Some(json!({"tools": [
            {
                "name": "list_years",
                "description": "Lists the years that have a yearbook.",
                "inputSchema": {"type": "object", "properties": {}},
                "annotations": {"readOnlyHint": true},
            },
            {
                "name": "read_yearbook",
                "description": "Returns the yearbook of a year.",
                "inputSchema": {
                    "type": "object",
                    "properties": {"year": {"type": "integer"}},
                    "required": ["year"],
                },
                "annotations": {"readOnlyHint": true},
            },
        ]})),
        "tools/call" => Some(call(params)),
        _ => None,
    }
}

fn call(params: &Value) -> Value {
    let year = params["arguments"]["year"].as_u64().and_then(|year| u16::try_from(year).ok());
    match (params["name"].as_str().unwrap_or_default(), year.filter(|year| YEARS.contains(year))) {
        ("list_years", _) => text(&YEARS.map(|year| year.to_string()).collect::<Vec<_>>().join(", ")),
        ("read_yearbook", Some(year)) => text(&yearbook(year)),
        _ => json!({"content": [{"type": "text", "text": "There is no such yearbook."}], "isError": true}),
    }
}

fn text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

/// Returns the day of the year on which the first blossom opened: three days earlier each five
/// years, and a little to and fro.
pub fn first_blossom(year: u16) -> u16 {
    let since = year - YEARS.start();
    104 - since * 3 / 5 + [0, 2, 1][usize::from(since % 3)]
}

fn yearbook(year: u16) -> String {
    let months = (1..=12).map(|month| {
        let (rain, frost) = (30 + (year * 7 + month * 11) % 60, (year + month * 5) % 9);
        format!(
            "Month {month}: {rain} mm of rain, {frost} nights of frost; the paths were raked and the labels checked."
        )
    });
    let months: Vec<String> = months.collect();
    format!(
        "Yearbook {year}.\nThe first cherry blossom opened on day {} of the year.\n{}",
        first_blossom(year),
        months.join("\n")
    )
}
