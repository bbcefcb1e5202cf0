//! Which tools of a list are left out, because their schemas are too large.
//!
//! They are measured where they are listed: what a run knows of a list is in its history, and stays there. The list names
//! them with the reason, so that the history says what the agent does not have, and why.

use serde_json::{Value, json};

use crate::secret::worker_env::Given;
use crate::tool::schema;

/// A list of tools without those beyond the bounds of [`schema::measure`], which are under `leftOut` then. What a check of arguments
/// will ignore is logged, as it is for tools that are registered.
pub(super) fn within_bounds(server: &str, mut list: Value) -> Value {
    let Some(Value::Array(tools)) = list.get_mut("tools") else { return list };
    let mut left_out = Vec::new();
    tools.retain(|tool| {
        let (name, input) = (tool["name"].as_str().unwrap_or_default(), &tool["inputSchema"]);
        match schema::measure(input) {
            Ok(()) => {
                let keywords = schema::unchecked(input);
                if !keywords.is_empty() {
                    tracing::warn!(server, tool = name, ?keywords, "arguments are not checked against these keywords");
                }
                true
            }
            Err(reason) => {
                tracing::warn!(server, tool = name, %reason, "a tool of an MCP server is left out");
                left_out.push(json!({"name": name, "reason": reason.to_string()}));
                false
            }
        }
    });
    if !left_out.is_empty() {
        list["leftOut"] = left_out.into();
    }
    list
}

/// A list of tools without those whose names or schemas quote what the server was given, which are under `leftOut` then: taken out of them,
/// calls would name what the server does not have.
pub(super) fn without_quoted(server: &str, mut list: Value, given: &Given) -> Value {
    const REASON: &str = "its name or its schema holds a credential of the server's transport; McpValue::plain exempts a value that is none";
    let Some(Value::Array(tools)) = list.get_mut("tools") else { return list };
    let mut left_out = Vec::new();
    tools.retain(|tool| {
        let is_whole = ["name", "inputSchema"].iter().all(|member| given.value(tool[*member].clone()) == tool[*member]);
        if !is_whole {
            let name = given.value(tool["name"].clone());
            tracing::warn!(server, tool = %name, reason = REASON, "a tool of an MCP server is left out");
            left_out.push(json!({"name": name, "reason": REASON}));
        }
        is_whole
    });
    if !left_out.is_empty() {
        match list.get_mut("leftOut") {
            Some(Value::Array(before)) => before.append(&mut left_out),
            _ => list["leftOut"] = left_out.into(),
        }
    }
    list
}

#[cfg(test)]
mod tests;
