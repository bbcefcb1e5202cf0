//! Handlers that turn some errors of a run into a final output.

use std::{fmt, sync::Arc};

use serde_json::Value;

use crate::{
    tool::{BoxError, RunContext},
    wire::Item,
};

/// Handlers of the errors that can be turned into a final output. Without a handler, such an error
/// ends the run, apart from a missing structured output, after which the model is called again.
///
/// # Source
/// `error_handlers` of the OpenAI Agents SDK.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ErrorHandlers {
    /// Handles a run that has made the maximum number of model calls.
    pub max_turns: Option<ErrorHandler>,
    /// Handles a refusal of the model.
    pub model_refusal: Option<ErrorHandler>,
    /// Handles a final answer that is missing or not of the agent's output type.
    pub invalid_final_output: Option<ErrorHandler>,
}

/// A function that turns an error into a final output, or declines.
///
/// # Determinism
/// It runs in the workflow, again on replay.
#[derive(Clone)]
pub struct ErrorHandler(Arc<HandleError>);

type HandleError = dyn Fn(&HandledError<'_>) -> Result<Option<Handled>, BoxError> + Send + Sync;

/// An error that is passed to its handler.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct HandledError<'a> {
    /// The message of the error, in the wording of the OpenAI Agents SDK.
    pub message: &'a str,
    /// Name of the agent whose turn it was.
    pub last_agent: &'a str,
    /// The conversation so far.
    pub history: &'a [Item],
    /// The run context.
    pub run: &'a RunContext,
}

impl<'a> HandledError<'a> {
    /// Creates an error with the state of the run at which it occurred.
    pub fn new(message: &'a str, last_agent: &'a str, history: &'a [Item], run: &'a RunContext) -> Self {
        Self { message, last_agent, history, run }
    }
}

/// A final output that a handler returns in place of an error.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Handled {
    /// The final output. For an agent with an output type, it is checked against that type.
    pub final_output: Value,
    /// `true` if the output is recorded as a message of the agent.
    pub include_in_history: bool,
}

impl Handled {
    /// Creates a final output that is recorded as a message of the agent.
    pub fn output(final_output: impl Into<Value>) -> Self {
        Self { final_output: final_output.into(), include_in_history: true }
    }

    /// Records no message in the history.
    #[must_use]
    pub fn without_message(mut self) -> Self {
        self.include_in_history = false;
        self
    }
}

impl ErrorHandler {
    /// Creates a handler from a function. A function that returns `None` declines, as if there were
    /// no handler.
    pub fn new(
        handle: impl Fn(&HandledError<'_>) -> Result<Option<Handled>, BoxError> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(handle))
    }

    /// Calls the handler.
    ///
    /// # Errors
    /// The function's own error; it ends the run.
    pub fn handle(&self, error: &HandledError<'_>) -> Result<Option<Handled>, BoxError> {
        (self.0)(error)
    }
}

impl fmt::Debug for ErrorHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ErrorHandler")
    }
}
