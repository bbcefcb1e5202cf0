//! The script of the model.

use std::time::Duration;

use temporal_agents_testing::{FakeModel, fake_model::text};

/// Number of words of an answer.
pub const WORDS: usize = 200;
/// Number of characters in each part of a streamed answer.
const CHUNK_SIZE: usize = 5;
/// Pause between two parts of a streamed answer.
const CHUNK_PAUSE: Duration = Duration::from_millis(20);

/// The story of 40 words, which repeats until the answer has enough words.
const STORY: &str = "The keeper of the lighthouse wrote down the weather each evening, and the sea answered each \
                     morning with another page. Nobody read them, so she began again: a boat, a storm, and a lamp \
                     that simply would not go out.";

/// Returns a model that answers every message with the same 200 words. With `break_after`, the first
/// attempt at each streamed answer breaks after this number of parts.
pub fn scripted(break_after: Option<usize>) -> FakeModel {
    FakeModel::function(move |_, _| {
        let reply = text(story()).chunk_size(CHUNK_SIZE).chunk_pause(CHUNK_PAUSE);
        match break_after {
            Some(parts) => reply.breaking_after(parts),
            None => reply,
        }
    })
}

/// Returns the answer.
pub fn story() -> String {
    STORY.split_whitespace().cycle().take(WORDS).collect::<Vec<_>>().join(" ")
}
