//! The script of the model.

use serde_json::json;
use temporal_agents_testing::fake_model::{FakeModel, handoff, item, message, text, tool_call};

/// Returns models that follow their instructions.
pub fn scripted() -> FakeModel {
    let explanation = "Your open invoices are 39 and 59 euros: the second one holds 20 euros for the new router.";
    FakeModel::script([
        // the desk
        handoff("billing"),
        // billing
        tool_call("open_invoices", json!({"customer": "C-77"})),
        item(message(explanation)).and(handoff("desk")),
        // the desk again
        tool_call("transfer_to_technician", json!({"what": "the line is dead", "since": "Monday"})),
        // the technician
        tool_call("measure_line", json!({"customer": "C-77"})),
        text("The fault is in our street cabinet, not in your house. It is repaired today, by six."),
    ])
}
