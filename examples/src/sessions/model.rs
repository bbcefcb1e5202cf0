//! The script of the model.

use serde_json::json;
use temporal_agents_testing::fake_model::{FakeModel, text, tool_call};

/// The messages of the reader.
pub const QUESTIONS: [&str; 3] =
    ["Have you anything about islands?", "Which of the two is shorter?", "That one, please. Keep it for me."];

/// Returns a librarian who uses the conversation so far.
pub fn scripted() -> FakeModel {
    FakeModel::script([
        tool_call("find_books", json!({"subject": "islands"})),
        text("Two: The Summer Book by Tove Jansson, and The Outrun by Amy Liptrot."),
        text("The Summer Book: 170 pages."),
        tool_call("reserve", json!({"title": "The Summer Book"})),
        text("The Summer Book is on shelf 12 for you, until Saturday."),
    ])
}
