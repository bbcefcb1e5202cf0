//! The script of the model: a function of the conversation, so that it plays on in whatever process takes over.

use serde_json::json;
use temporal_agents::wire::{ItemView, ModelCall};
use temporal_agents_testing::fake_model::{FakeModel, Reply, text, tool_call};

/// A clerk who wants to pay, and takes no for an answer.
pub fn scripted() -> FakeModel {
    FakeModel::function(|call, _| play(call))
}

/// What the clerk does next.
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
