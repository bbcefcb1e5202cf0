//! Functions of the author that apply to a whole run.
//!
//! # Determinism
//! All of them run in the workflow, again on replay: no clock, no randomness, no I/O.

use std::{fmt, sync::Arc};

use crate::{
    tool::{BoxError, RunContext},
    wire::Item,
};

/// The input and instructions of a model call, before it is made.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ModelInput {
    /// The conversation; with server-side state, only the items that the server has not received.
    pub input: Vec<Item>,
    /// The system prompt.
    pub instructions: Option<String>,
}

impl ModelInput {
    /// Creates a model input from the conversation and the system prompt.
    pub fn new(input: Vec<Item>, instructions: Option<String>) -> Self {
        Self { input, instructions }
    }
}

/// A function that makes the last change to the input of a model call. Only that call uses the
/// changed input: the result and the session do not.
#[derive(Clone)]
pub struct CallModelInputFilter(Arc<FilterInput>);

type FilterInput = dyn Fn(ModelInput, &str, &RunContext) -> Result<ModelInput, BoxError> + Send + Sync;

impl CallModelInputFilter {
    /// Creates a filter from a function of the input, the agent's name and the run context. An
    /// error of the function ends the run.
    pub fn new(
        filter: impl Fn(ModelInput, &str, &RunContext) -> Result<ModelInput, BoxError> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(filter))
    }

    /// Changes the input.
    ///
    /// # Errors
    /// The function's own.
    pub fn apply(&self, input: ModelInput, agent: &str, run: &RunContext) -> Result<ModelInput, BoxError> {
        (self.0)(input, agent, run)
    }
}

/// The reason why the model receives a message instead of a tool's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolErrorMessageKind {
    /// The call was rejected.
    ApprovalRejected,
    /// The agent has no tool of this name.
    ToolNotFound,
    /// The tool failed, and does not determine the message for the model itself.
    ToolException,
}

impl ToolErrorMessageKind {
    /// Returns the name of the kind in the OpenAI Agents SDK: `approval_rejected`,
    /// `tool_not_found`, `tool_exception`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ApprovalRejected => "approval_rejected",
            Self::ToolNotFound => "tool_not_found",
            Self::ToolException => "tool_exception",
        }
    }
}

/// A message that is about to replace a tool's output.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ToolErrorMessage<'a> {
    /// The reason for the message.
    pub kind: ToolErrorMessageKind,
    /// Name of the tool.
    pub tool: &'a str,
    /// The model's id of the call.
    pub call_id: &'a str,
    /// The message that the model receives if the formatter returns `None`.
    pub default_message: &'a str,
    /// The error message of the tool, if the tool failed.
    pub error: Option<&'a str>,
}

/// A function that formats the messages that models receive instead of tool outputs. `None` keeps
/// the default message.
#[derive(Clone)]
pub struct ToolErrorFormatter(Arc<FormatToolError>);

type FormatToolError = dyn Fn(&ToolErrorMessage<'_>) -> Option<String> + Send + Sync;

impl ToolErrorFormatter {
    /// Creates a formatter from a function.
    pub fn new(format: impl Fn(&ToolErrorMessage<'_>) -> Option<String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(format))
    }

    /// Returns the message for the model, or `None` to keep the default message.
    pub fn format(&self, message: &ToolErrorMessage<'_>) -> Option<String> {
        (self.0)(message)
    }
}

/// A function that builds the next agent's history from the whole transcript, instead of a summary.
#[derive(Clone)]
pub struct HistoryMapper(Arc<dyn Fn(Vec<Item>) -> Vec<Item> + Send + Sync>);

impl HistoryMapper {
    /// Creates a mapper from a function.
    pub fn new(map: impl Fn(Vec<Item>) -> Vec<Item> + Send + Sync + 'static) -> Self {
        Self(Arc::new(map))
    }

    /// Returns the history built from a transcript.
    pub fn map(&self, transcript: Vec<Item>) -> Vec<Item> {
        (self.0)(transcript)
    }
}

/// A function that builds a run's input from the stored items of the session and the new items.
#[derive(Clone)]
pub struct SessionInputCallback(Arc<MergeSession>);

type MergeSession = dyn Fn(Vec<Item>, Vec<Item>) -> Vec<Item> + Send + Sync;

impl SessionInputCallback {
    /// Creates a callback from a function of the stored items and the new items.
    pub fn new(merge: impl Fn(Vec<Item>, Vec<Item>) -> Vec<Item> + Send + Sync + 'static) -> Self {
        Self(Arc::new(merge))
    }

    /// Returns the input built from the stored items and the new items.
    pub fn merge(&self, stored: Vec<Item>, new: Vec<Item>) -> Vec<Item> {
        (self.0)(stored, new)
    }
}

macro_rules! opaque_debug {
    ($($name:ident)*) => {
        $(impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(stringify!($name))
            }
        })*
    };
}

opaque_debug!(CallModelInputFilter ToolErrorFormatter HistoryMapper SessionInputCallback);
