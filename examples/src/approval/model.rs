//! The script of the model: a function of the conversation, so that it continues in any process
//! that replaces a crashed one.

use serde_json::json;
use temporal_agents::wire::{ItemView, ModelCall};
use temporal_agents_testing::fake_model::{FakeModel, Reply, text, tool_call};

/// Returns a clerk who requests a refund, and accepts a rejection.
pub fn scripted() -> FakeModel {
    FakeModel::function(|call, _| play(call))
}

/// Returns the clerk's next response.
pub fn play(call: &ModelCall) -> Reply {
    let output = call.input.iter().rev().find_map(|item| match item.view() {
        ItemView::FunctionCallOutput { output, .. } => output.as_str(),
        _ => None,
    });
    match output {
        None => tool_call("refund", json!({"order": "A-1042", "euros": 240})),
        Some(paid) if paid.ends_with("are paid") => text(format!("Settled: {paid}.")),
        Some(refusal) => text(format!("I am sorry, there is no refund. {refusal}")),
    }
}
