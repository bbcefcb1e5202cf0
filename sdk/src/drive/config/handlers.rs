//! Handlers that turn some errors of a run into a final output.

use std::{fmt, sync::Arc};

use serde_json::Value;

use crate::{
    tool::{Failure, RunContext},
    wire::Item,
};

/// Handlers of the errors that can be turned into a final output. A failed run without one fails.
///
/// # Source
/// `error_handlers` of the OpenAI Agents SDK.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ErrorHandlers {
    /// The run made all the model calls it may.
    pub max_turns: Option<ErrorHandler>,
    /// The model refused to answer.
    pub model_refusal: Option<ErrorHandler>,
    /// The final answer is not of the agent's output type, or missing.
    pub invalid_final_output: Option<ErrorHandler>,
}

/// A function that turns an error into a final output, or declines.
///
/// # Determinism
/// It runs in the workflow, again on replay.
#[derive(Clone)]
pub struct ErrorHandler(Arc<HandleError>);

type HandleError = dyn Fn(&HandledError<'_>) -> Result<Option<Handled>, Failure> + Send + Sync;

/// An error, for its handler.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct HandledError<'a> {
    /// The error in the words of the reference.
    pub message: &'a str,
    /// The agent whose turn it was.
    pub last_agent: &'a str,
    /// The conversation so far.
    pub history: &'a [Item],
    /// The run context.
    pub run: &'a RunContext,
}

impl<'a> HandledError<'a> {
    /// An error at this point of a run.
    pub fn new(message: &'a str, last_agent: &'a str, history: &'a [Item], run: &'a RunContext) -> Self {
        Self { message, last_agent, history, run }
    }
}

/// What a handler makes of an error.
#[derive(Clone, Debug, PartialEq)]
pub struct Handled {
    /// The final output; for a structured agent it is checked against its output type.
    pub final_output: Value,
    /// Whether it is recorded as a message of the agent.
    pub include_in_history: bool,
}

impl Handled {
    /// This output, recorded as a message of the agent.
    pub fn output(final_output: impl Into<Value>) -> Self {
        Self { final_output: final_output.into(), include_in_history: true }
    }

    /// Leaves no message in the history.
    #[must_use]
    pub fn without_message(mut self) -> Self {
        self.include_in_history = false;
        self
    }
}

impl ErrorHandler {
    /// This function as a handler; none declines, and the run fails with the error.
    pub fn new(handle: impl Fn(&HandledError<'_>) -> Result<Option<Handled>, Failure> + Send + Sync + 'static) -> Self {
        Self(Arc::new(handle))
    }

    /// Asks the handler.
    ///
    /// # Errors
    /// The function's own; it ends the run.
    pub fn handle(&self, error: &HandledError<'_>) -> Result<Option<Handled>, Failure> {
        (self.0)(error)
    }
}

impl fmt::Debug for ErrorHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ErrorHandler")
    }
}
