//! The script of the model.

use temporal_agents_testing::{FakeModel, fake_model::text};

/// Number of words of an answer.
pub const WORDS: usize = 200;

/// The story of 40 words, which repeats until the answer has enough words.
const STORY: &str = "The keeper of the lighthouse wrote down the weather each evening, and the sea answered each \
                     morning with another page. Nobody read them, so she began again: a boat, a storm, and a lamp \
                     that simply would not go out.";

/// Returns a model that answers every message with the same 200 words.
pub fn scripted() -> FakeModel {
    FakeModel::function(|_, _| text(story()))
}

/// Returns the answer.
pub fn story() -> String {
    STORY.split_whitespace().cycle().take(WORDS).collect::<Vec<_>>().join(" ")
}
