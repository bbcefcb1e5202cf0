//! The summary that the Temporal UI shows for a model call, and the limits of all summaries.

use std::sync::Arc;

use temporal_agents_core::{
    drive::guard::{Panic, guarded},
    wire::{Item, ModelCall},
};

/// Maximum number of bytes of a summary. A server refuses longer ones, 400 bytes with its defaults,
/// and a refused command makes the workflow task fail forever.
const MAX_SUMMARY_BYTES: usize = 200;

/// The summary that the Temporal UI shows for a model call: one line of at most 200 bytes; a longer
/// one is cut.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum Summary {
    /// `<agent> · turn <n>`.
    #[default]
    AgentAndTurn,
    /// A fixed string.
    Fixed(String),
    /// The string that this function returns.
    Computed(Arc<dyn Fn(&SummarizedCall<'_>) -> String + Send + Sync>),
}

/// A model call for which a summary is computed.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct SummarizedCall<'c> {
    /// Name of the agent.
    pub agent: &'c str,
    /// The turn, counted from 1.
    pub turn: u32,
    /// Name of the model.
    pub model: &'c str,
    /// The system prompt.
    pub instructions: Option<&'c str>,
    /// The last item of the conversation: a message, or the output of a tool.
    pub last_input: Option<&'c Item>,
}

impl Summary {
    /// Creates a summary that is computed from the call.
    ///
    /// ```
    /// use temporal_agents::{wire::Item, workflow::{ModelActivityOptions, Summary}};
    ///
    /// let summary = Summary::computed(|call| {
    ///     let question = call.last_input.and_then(Item::text).unwrap_or_default();
    ///     format!("{} ({}): {question}", call.agent, call.model)
    /// });
    /// let options = ModelActivityOptions::builder().summary(summary).build();
    /// ```
    ///
    /// # Determinism
    /// The function runs in the workflow: it may use its argument and nothing else.
    pub fn computed(summary: impl Fn(&SummarizedCall<'_>) -> String + Send + Sync + 'static) -> Self {
        Self::Computed(Arc::new(summary))
    }

    /// Returns the summary of a call.
    ///
    /// # Errors
    /// The panic of the author's function.
    pub(in crate::workflow) fn of(&self, call: &ModelCall) -> Result<String, Panic> {
        let text = match self {
            Self::AgentAndTurn => format!("{} · turn {}", call.agent, call.turn),
            Self::Fixed(text) => text.clone(),
            Self::Computed(compute) => {
                let call = SummarizedCall {
                    agent: &call.agent,
                    turn: call.turn,
                    model: &call.model,
                    instructions: call.definitions.instructions.as_deref(),
                    last_input: call.input.last(),
                };
                guarded(|| compute(&call))?
            }
        };
        Ok(one_line(text))
    }
}

/// Returns the text as a summary that the server accepts, also if a caller has written a part of
/// it.
pub(in crate::workflow) fn one_line(text: String) -> String {
    let text = if text.contains(char::is_control) { text.replace(char::is_control, " ") } else { text };
    if text.len() <= MAX_SUMMARY_BYTES {
        return text;
    }
    let dots = "\u{2026}";
    format!("{}{dots}", &text[..text.floor_char_boundary(MAX_SUMMARY_BYTES - dots.len())])
}

impl From<&str> for Summary {
    fn from(text: &str) -> Self {
        Self::Fixed(text.to_owned())
    }
}

impl From<String> for Summary {
    fn from(text: String) -> Self {
        Self::Fixed(text)
    }
}

impl std::fmt::Debug for Summary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::AgentAndTurn => f.write_str("AgentAndTurn"),
            Self::Fixed(text) => f.debug_tuple("Fixed").field(text).finish(),
            Self::Computed(_) => f.write_str("Computed"),
        }
    }
}

#[cfg(test)]
mod tests;
