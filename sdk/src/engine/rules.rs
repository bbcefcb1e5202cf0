//! The rules of a run that are data. They come with the run's configuration, also when a run is taken up again.

/// What happens when a model calls a tool that it was not offered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnknownTools {
    /// The run ends.
    #[default]
    Fail,
    /// The model is told.
    TellModel,
}

/// Whether reasoning items keep their ids when they are sent back, and in the session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReasoningItemIds {
    /// They do.
    #[default]
    Preserve,
    /// They do not.
    Omit,
}

/// Most calls in one response of a model, unless the run says otherwise.
///
/// A run continues as new between two turns only, so that all calls of a turn are in one history, with three events and more each. A server
/// takes 51,200 events.
pub const MAX_CALLS_PER_RESPONSE: usize = 2_000;

/// The rules of a run that are data.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rules {
    /// See [`UnknownTools`].
    pub unknown_tools: UnknownTools,
    /// See [`ReasoningItemIds`].
    pub reasoning_item_ids: ReasoningItemIds,
    /// What stands for a tool's output that an output guardrail held back; absent = a fixed text.
    pub blocked_message: Option<String>,
    /// Most calls in one response of a model.
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
