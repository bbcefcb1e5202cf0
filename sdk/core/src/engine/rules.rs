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

/// The reaction to a response without a usable answer.
///
/// It holds neither text nor a call (often reasoning alone, because the model reached its limit of
/// tokens), or it stops early in its calls. Such calls are never made: the arguments of the last
/// one may be cut. A text that stops early is an answer, marked in `RunResult::incomplete`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum IncompleteAnswers {
    /// The run ends with `RunError::IncompleteAnswer`.
    #[default]
    Fail,
    /// The response is left out, and the model is called again with the same input.
    ///
    /// Each time is a turn. The third such response in a row ends the run, and so does the first one
    /// if the provider keeps the conversation under an id.
    AskAgain,
    /// The model receives a message that its calls were not made. A response without calls is asked
    /// for again.
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
    /// The reaction to a response without a usable answer; see [`IncompleteAnswers`].
    pub incomplete_answers: IncompleteAnswers,
    /// The treatment of the ids of reasoning items; see [`ReasoningItemIds`].
    pub reasoning_item_ids: ReasoningItemIds,
    /// Replaces a tool's output that an output guardrail held back. Default: a fixed message.
    pub blocked_message: Option<String>,
    /// Maximum number of calls in one response of a model.
    pub max_calls_per_response: usize,
    /// Writes the input to the session before the input guardrails have admitted it.
    pub keeps_tripped_input: bool,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            unknown_tools: UnknownTools::default(),
            incomplete_answers: IncompleteAnswers::default(),
            reasoning_item_ids: ReasoningItemIds::default(),
            blocked_message: None,
            max_calls_per_response: MAX_CALLS_PER_RESPONSE,
            keeps_tripped_input: false,
        }
    }
}
