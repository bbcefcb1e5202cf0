//! The script of the model: a function of the guest's choice.

use serde_json::json;
use temporal_agents::wire::ItemView;
use temporal_agents_testing::fake_model::{FakeModel, Reply, text, tool_call};

/// Returns a host who asks until a table is chosen.
pub fn scripted() -> FakeModel {
    FakeModel::function(|call, _| -> Reply {
        let chosen = call.input.iter().rev().find_map(|item| match item.view() {
            ItemView::FunctionCallOutput { output, .. } => output.as_str(),
            _ => None,
        });
        match chosen.and_then(|output| output.parse::<u32>().ok()) {
            Some(table) => text(format!("Table {table} is yours.")),
            None => tool_call("choose_table", json!({"tables": [3, 5, 8]})),
        }
    })
}
