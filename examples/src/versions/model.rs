//! The script of the model, which answers without a key.

use serde_json::json;
use temporal_agents::wire::{ModelCall, ToolSpec};
use temporal_agents_testing::fake_model::{FakeModel, Reply, text, tool_call};

/// Returns a model that orders a scarf, in a colour if the tool takes one.
pub fn scripted() -> FakeModel {
    FakeModel::function(|call: &ModelCall, _| -> Reply {
        match call.input.last().and_then(|item| item.get("output")) {
            Some(output) => text(format!("Done: {}.", output.as_str().unwrap_or_default())),
            None if takes_a_colour(call) => tool_call("order", json!({"article": "scarf", "colour": "red"})),
            None => tool_call("order", json!({"article": "scarf"})),
        }
    })
}

fn takes_a_colour(call: &ModelCall) -> bool {
    let has_colour = |tool: &ToolSpec| match tool {
        ToolSpec::Function { parameters, .. } => parameters["properties"].get("colour").is_some(),
        ToolSpec::Hosted { .. } => false,
    };
    call.definitions.tools.iter().any(has_colour)
}
