//! The script of the model.

use serde_json::json;
use temporal_agents_testing::fake_model::{FakeModel, text, tool_call};

/// What the reader says.
pub const QUESTIONS: [&str; 3] =
    ["Have you anything about islands?", "Which of the two is shorter?", "That one, please. Keep it for me."];

/// A librarian who remembers what was said.
pub fn scripted() -> FakeModel {
    FakeModel::script([
        tool_call("find_books", json!({"subject": "islands"})),
        text("Two: The Summer Book by Tove Jansson, and The Outrun by Amy Liptrot."),
        text("The Summer Book: 170 pages."),
        tool_call("reserve", json!({"title": "The Summer Book"})),
        text("The Summer Book is on shelf 12 for you, until Saturday."),
    ])
}
