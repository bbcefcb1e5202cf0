//! The script of the model.

use serde_json::json;
use temporal_agents_testing::fake_model::{FakeModel, text, tool_call, tool_calls};

/// Returns a mechanic who looks up parts, orders a chain, mends a tyre, and books a day.
pub fn scripted() -> FakeModel {
    FakeModel::script([
        tool_calls([
            ("page_of_manual", json!({"page": 1})),
            ("parts_on_shelf", json!({"part": "bike chain"})),
            ("parts_on_shelf", json!({"part": "chain"})),
            ("price", json!({"hours": 2, "urgency": "today"})),
        ]),
        tool_call("order_part", json!({"part": "chain", "euros": 35})),
        tool_calls([("let_glue_dry", json!({"seconds": 1})), ("free_days", json!({}))]),
        tool_call("book", json!({"day": "Thursday"})),
        text("The tyre is mended. A new chain is on its way, and goes on on Thursday, for 120 euros."),
    ])
}
