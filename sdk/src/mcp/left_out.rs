//! Leaves tools out of a list because their schemas are too large, or because they quote
//! credentials.
//!
//! Tools are measured where they are listed, because a run's list of tools is in its history and
//! stays there. The list names the tools left out with the reason, so that the history records the
//! tools that the agent does not have, and the cause.

use serde_json::{Value, json};
use temporal_agents_core::tool::schema;

use crate::secret::worker_env::Given;

/// Returns a list of tools without those beyond the limits of [`schema::measure`], which it names
/// under `leftOut`. Keywords that the check of arguments ignores are logged, as for registered
/// tools.
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

/// Returns a list of tools without those whose names or schemas quote credentials of the transport,
/// which it names under `leftOut`. With the credentials redacted, calls would refer to tools or
/// arguments that the server does not have.
pub(super) fn without_credentials(server: &str, mut list: Value, given: &Given) -> Value {
    const REASON: &str = "its name or its schema holds a credential of the server's transport; McpValue::plain \
                          exempts a value that is not a credential";
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
