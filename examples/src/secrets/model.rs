//! The script of the model: it reveals everything that it receives.

use serde_json::{Value, json};
use temporal_agents::wire::{ItemView, ModelCall, ToolSpec};
use temporal_agents_testing::fake_model::{FakeModel, text, tool_call};

/// Returns a model that looks up a customer and reveals everything, including the token.
pub fn scripted() -> FakeModel {
    FakeModel::function(|call: &ModelCall, _number| {
        let known = call.input.iter().find_map(|item| match item.view() {
            ItemView::FunctionCallOutput { output, .. } => output.as_str(),
            _ => None,
        });
        match known {
            None => tool_call("customer", json!({"name": "Ada"})),
            Some(known) => text(format!("{known}. My token is {}.", token(call).unwrap_or("not there"))),
        }
    })
}

/// Returns the token that a call contains for the CRM.
pub fn token(call: &ModelCall) -> Option<&str> {
    call.definitions.tools.iter().find_map(|tool| match tool {
        ToolSpec::Hosted { config, .. } => config.get("authorization").and_then(Value::as_str),
        ToolSpec::Function { .. } => None,
    })
}
