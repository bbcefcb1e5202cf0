//! The script of the model.

use temporal_agents_testing::{FakeModel, fake_model::text};

/// How many words an answer has.
pub const WORDS: usize = 200;

/// Told again until the answer has its words: 40 of them.
const STORY: &str = "The keeper of the lighthouse wrote down the weather each evening, and the sea answered each \
                     morning with another page. Nobody read them, so she began again: a boat, a storm, and a lamp \
                     that simply would not go out.";

/// A model that answers every message with the same 200 words.
pub fn scripted() -> FakeModel {
    FakeModel::function(|_, _| text(story()))
}

/// The answer.
pub fn story() -> String {
    STORY.split_whitespace().cycle().take(WORDS).collect::<Vec<_>>().join(" ")
}
