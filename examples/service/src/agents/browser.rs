//! `browser`: calls a tool that the client runs.

use serde_json::json;
use temporal_agents::{Agent, tool::ToolDef, wire::ModelCall};
use temporal_agents_testing::fake_model::{Reply, tool_call};

use super::script::{latest, say};

/// Returns the browser.
pub fn browser() -> Agent {
    let schema = json!({
        "type": "object",
        "properties": {"question": {"type": "string"}},
        "required": ["question"],
        "additionalProperties": false
    });
    let ask = ToolDef::client("ask_page", "Asks the page that the person has open.", schema);
    Agent::new("browser").model("scripted").instructions("You talk about the page.").tool(ask)
}

pub(super) fn reply(call: &ModelCall) -> Reply {
    let (_, outputs) = latest(call);
    match outputs.last() {
        Some(output) => say(format!("The page that you have open has answered, and it says the following: {output}.")),
        None => tool_call("ask_page", json!({"question": "Which title does the page have?"})),
    }
}
