//! The script of the model.

use serde_json::{Map, Value};
use temporal_agents::wire::{Item, ItemView, ModelCall};
use temporal_agents_testing::fake_model::{FakeModel, Reply, text, tool_call};

/// Returns a model that calls this tool, and repeats its output.
pub fn scripted(tool: String, arguments: Map<String, Value>) -> FakeModel {
    FakeModel::function(move |call: &ModelCall, _number| match output(&call.input) {
        None => tool_call(&tool, Value::Object(arguments.clone())),
        Some(output) => told(output),
    })
}

fn told(output: &Value) -> Reply {
    match output {
        Value::String(output) => text(output),
        parts => text(parts.to_string()),
    }
}

fn output(input: &[Item]) -> Option<&Value> {
    input.iter().rev().find_map(|item| match item.view() {
        ItemView::FunctionCallOutput { output, .. } => Some(output),
        _ => None,
    })
}
