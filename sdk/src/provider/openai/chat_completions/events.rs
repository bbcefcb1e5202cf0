//! The events of a streamed completion.

use serde_json::{Map, Value};

use crate::provider::{
    ModelDeltas,
    chat_chunks::{self, ChatChunks, Layout},
    http::{sse::Event, streaming::Reading},
};

/// The events so far.
#[derive(Debug)]
pub(super) struct CompletionEvents(ChatChunks);

impl Default for CompletionEvents {
    fn default() -> Self {
        Self(ChatChunks::new(Layout::Joined))
    }
}

impl Reading for CompletionEvents {
    const USAGE_ON_REQUEST: bool = true;

    fn read(&mut self, event: &Event, deltas: &ModelDeltas) -> Result<bool, &'static str> {
        self.0.read(&event.name, &event.data, deltas)
    }

    fn kept(&self) -> usize {
        self.0.kept()
    }

    fn body(self) -> Option<Map<String, Value>> {
        self.0.body()
    }

    fn differs(request: &Map<String, Value>) -> Option<&'static str> {
        chat_chunks::differs(request)
    }
}
