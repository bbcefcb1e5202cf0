//! The script of the model: a function of the conversation, so that it continues in any process
//! that replaces a crashed one.

use serde_json::json;
use temporal_agents::wire::{ItemView, ModelCall};
use temporal_agents_testing::fake_model::{FakeModel, Reply, text, tool_call, tool_calls};

/// Returns a reviewer who reads both files, requests to comment on one, and accepts a rejection.
pub fn scripted() -> FakeModel {
    FakeModel::function(|call, _| play(call))
}

fn play(call: &ModelCall) -> Reply {
    let outputs: Vec<&str> = call
        .input
        .iter()
        .filter_map(|item| match item.view() {
            ItemView::FunctionCallOutput { output, .. } => output.as_str(),
            _ => None,
        })
        .collect();
    match &*outputs {
        [] => {
            tool_calls([("read_file", json!({"path": "src/limit.rs"})), ("read_file", json!({"path": "src/retry.rs"}))])
        }
        [_, _] => tool_call(
            "post_comment",
            json!({"path": "src/retry.rs", "line": 1, "comment": "This never gives up. Limit the attempts."}),
        ),
        [_, _, "posted"] => text("The retry loop needs a limit; I have commented on it."),
        [.., refusal] => text(format!("The retry loop needs a limit. I was not to say so: {refusal}")),
    }
}
