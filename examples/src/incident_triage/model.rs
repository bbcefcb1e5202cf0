//! The script of the model: a function of the conversation, so that it continues in any process
//! that replaces a crashed one.

use serde_json::json;
use temporal_agents::wire::{Item, ItemView, ModelCall};
use temporal_agents_testing::fake_model::{FakeModel, Reply, structured, tool_call, tool_calls};

use super::{Conclusion, Severity};

/// Returns a model that reads data, notes facts, requests a restart, and concludes.
pub fn scripted() -> FakeModel {
    FakeModel::function(|call, _| play(call))
}

fn play(call: &ModelCall) -> Reply {
    let is_output = |item: &&Item| matches!(item.view(), ItemView::FunctionCallOutput { .. });
    let outputs: Vec<String> =
        call.input.iter().filter(is_output).filter_map(|item| item.get("output").map(ToString::to_string)).collect();
    let checkout = json!({"service": "checkout"});
    match outputs.len() {
        0 => tool_calls([("metrics", checkout.clone()), ("deploys", checkout)]),
        2 => tool_calls([
            ("note", json!({"fact": "the connections to the database run out"})),
            ("note", json!({"fact": "v42 keeps connections open"})),
        ]),
        4 => tool_call("restart", checkout),
        _ => {
            let is_restarted = outputs[4].contains("restarted");
            structured(&Conclusion {
                severity: Severity::High,
                cause: "v42 leaks connections".to_owned(),
                done: if is_restarted {
                    "restarted; roll v42 back".to_owned()
                } else {
                    "nothing; roll v42 back".to_owned()
                },
            })
        }
    }
}
