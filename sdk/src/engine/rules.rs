//! The rules of a run that are plain data. They come with the run's configuration, also when a run
//! is resumed.

/// The reaction to a call of a tool that the model was not offered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnknownTools {
    /// The run ends.
    #[default]
    Fail,
    /// The model receives a message that the tool does not exist.
    TellModel,
}

/// The treatment of the ids of reasoning items, when these are sent back and in the session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReasoningItemIds {
    /// Keeps the ids.
    #[default]
    Preserve,
    /// Removes the ids.
    Omit,
}

/// Default maximum number of calls in one response of a model.
///
/// A run continues as new only between two turns, so all calls of a turn are in one history, with
/// three events or more each. A server accepts 51,200 events.
pub const MAX_CALLS_PER_RESPONSE: usize = 2_000;

/// The rules of a run that are plain data.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rules {
    /// The reaction to a call of a tool that the model was not offered; see [`UnknownTools`].
    pub unknown_tools: UnknownTools,
    /// The treatment of the ids of reasoning items; see [`ReasoningItemIds`].
    pub reasoning_item_ids: ReasoningItemIds,
    /// Replaces a tool's output that an output guardrail held back. Default: a fixed message.
    pub blocked_message: Option<String>,
    /// Maximum number of calls in one response of a model.
    pub max_calls_per_response: usize,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            unknown_tools: UnknownTools::default(),
            reasoning_item_ids: ReasoningItemIds::default(),
            blocked_message: None,
            max_calls_per_response: MAX_CALLS_PER_RESPONSE,
        }
    }
}
