//! The parts of an answer that a model sends before the answer is whole.
//!
//! Deltas are for display. No run depends on them: they may be lost, and the attempt after a failed
//! one repeats them. The answer is the result of [`Model::stream`](super::Model::stream).

use std::{
    fmt,
    sync::{Arc, PoisonError, RwLock},
};

use serde_json::Value;

/// A part of an answer.
///
/// `index` is the position, in [`ModelResponse::output`](temporal_agents_core::wire::ModelResponse::output), of
/// the item that the part becomes, counted from 0. Parts of one item arrive in their order. A part
/// whose position cannot be known when it arrives is not sent.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ModelDelta {
    /// A part of the text of a message.
    Text {
        /// Position of the message.
        index: u32,
        /// The text, never empty.
        delta: String,
    },
    /// A part of a refusal, in a message.
    Refusal {
        /// Position of the message.
        index: u32,
        /// The text, never empty.
        delta: String,
    },
    /// A part of the model's reasoning: its text, or a summary of it.
    Reasoning {
        /// Position of the item that holds the reasoning: a reasoning item, or, for servers that
        /// send both in one message, the message.
        index: u32,
        /// The text, never empty.
        delta: String,
    },
    /// A part of the arguments of a tool call.
    ToolArguments {
        /// Position of the call.
        index: u32,
        /// Id of the call, if it is known so far.
        call_id: Option<String>,
        /// Name of the tool, if it is known so far.
        name: Option<String>,
        /// A part of the arguments' JSON, never empty.
        delta: String,
    },
    /// An event of the provider's own stream, unchanged: of the Responses API, an object with
    /// `type` and `sequence_number`. It is sent only to a handle
    /// [that wants it](ModelDeltas::with_native), beside the other deltas; the other APIs have none.
    Native(Value),
}

/// The receiver of the deltas of one model call: a handle that a provider sends them to. Clones
/// send to the same receiver. Once the call has ended, also by being dropped, deltas are ignored.
///
/// ```
/// use temporal_agents::provider::{ModelDelta, ModelDeltas};
///
/// let (sender, received) = std::sync::mpsc::channel();
/// let deltas = ModelDeltas::new(move |delta| drop(sender.send(delta)));
/// deltas.send(ModelDelta::Text { index: 0, delta: "Hel".into() });
/// deltas.send(ModelDelta::Text { index: 0, delta: "lo".into() });
/// assert_eq!(received.try_iter().count(), 2);
/// ```
#[derive(Clone)]
pub struct ModelDeltas {
    receive: Arc<dyn Fn(ModelDelta) + Send + Sync>,
    wants_native: bool,
}

impl ModelDeltas {
    /// Creates a handle that passes each delta to this function. The function is called between two
    /// reads of the provider's answer, so it must not block: one that has work to do puts the delta
    /// into a channel.
    pub fn new(receive: impl Fn(ModelDelta) + Send + Sync + 'static) -> Self {
        Self { receive: Arc::new(receive), wants_native: false }
    }

    /// Requests the provider's own events also, as [`ModelDelta::Native`].
    #[must_use]
    pub fn with_native(mut self) -> Self {
        self.wants_native = true;
        self
    }

    /// Returns `true` if the provider's own events are requested.
    pub fn wants_native(&self) -> bool {
        self.wants_native
    }

    /// Returns a handle that sends to this one until the second value is dropped.
    pub(super) fn until_dropped(self) -> (Self, DeltasEnd) {
        let wants_native = self.wants_native;
        let open = Arc::new(RwLock::new(Some(self)));
        let of_handle = Arc::clone(&open);
        let receive = move |delta| {
            // Held while the delta is sent, so that none is sent after the end.
            if let Some(deltas) = &*of_handle.read().unwrap_or_else(PoisonError::into_inner) {
                deltas.send(delta);
            }
        };
        (Self { receive: Arc::new(receive), wants_native }, DeltasEnd(open))
    }

    /// Sends a delta. It never waits and never fails.
    pub fn send(&self, delta: ModelDelta) {
        (self.receive)(delta);
    }
}

/// Ends the deltas of a call when it is dropped. A provider may keep its handle: the receiver is
/// dropped anyway.
pub(super) struct DeltasEnd(Arc<RwLock<Option<ModelDeltas>>>);

impl Drop for DeltasEnd {
    fn drop(&mut self) {
        let ended = self.0.write().unwrap_or_else(PoisonError::into_inner).take();
        drop(ended);
    }
}

impl fmt::Debug for ModelDeltas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelDeltas").field("wants_native", &self.wants_native).finish_non_exhaustive()
    }
}
