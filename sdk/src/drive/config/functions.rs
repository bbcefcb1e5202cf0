//! Functions of the author that hold for a whole run.
//!
//! # Determinism
//! All of them run in the workflow, again on replay: no clock, no randomness, no I/O.

use std::{fmt, sync::Arc};

use crate::{
    tool::{Failure, RunContext},
    wire::Item,
};

/// What a model call is about to be given.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ModelInput {
    /// The conversation; with server-side state what the server has not seen.
    pub input: Vec<Item>,
    /// The system prompt.
    pub instructions: Option<String>,
}

impl ModelInput {
    /// This input with these instructions.
    pub fn new(input: Vec<Item>, instructions: Option<String>) -> Self {
        Self { input, instructions }
    }
}

/// The last change to a model call's input. Only the call sees it: not the result, not the session.
#[derive(Clone)]
pub struct CallModelInputFilter(Arc<FilterInput>);

type FilterInput = dyn Fn(ModelInput, &str, &RunContext) -> Result<ModelInput, Failure> + Send + Sync;

impl CallModelInputFilter {
    /// This function of input, agent's name and run context as a filter; its error ends the run.
    pub fn new(
        filter: impl Fn(ModelInput, &str, &RunContext) -> Result<ModelInput, Failure> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(filter))
    }

    /// Changes the input.
    ///
    /// # Errors
    /// The function's own.
    pub fn apply(&self, input: ModelInput, agent: &str, run: &RunContext) -> Result<ModelInput, Failure> {
        (self.0)(input, agent, run)
    }
}

/// Why the model is told something instead of a tool's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolErrorMessageKind {
    /// The call was rejected.
    ApprovalRejected,
    /// There is no such tool.
    ToolNotFound,
    /// The tool failed, and does not itself say what the model is told.
    ToolException,
}

impl ToolErrorMessageKind {
    /// The kind in the words of the reference: `approval_rejected`, `tool_not_found`, `tool_exception`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ApprovalRejected => "approval_rejected",
            Self::ToolNotFound => "tool_not_found",
            Self::ToolException => "tool_exception",
        }
    }
}

/// A text that is about to take the place of a tool's output.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ToolErrorMessage<'a> {
    /// Why.
    pub kind: ToolErrorMessageKind,
    /// The tool.
    pub tool: &'a str,
    /// The model's id of the call.
    pub call_id: &'a str,
    /// The text as it stands.
    pub default_message: &'a str,
    /// What went wrong, for a tool that failed.
    pub error: Option<&'a str>,
}

/// A function that words what models are told instead of outputs; nothing = the text stays as it is.
#[derive(Clone)]
pub struct ToolErrorFormatter(Arc<FormatToolError>);

type FormatToolError = dyn Fn(&ToolErrorMessage<'_>) -> Option<String> + Send + Sync;

impl ToolErrorFormatter {
    /// This function as a formatter.
    pub fn new(format: impl Fn(&ToolErrorMessage<'_>) -> Option<String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(format))
    }

    /// The text for the model, where the function has one.
    pub fn format(&self, message: &ToolErrorMessage<'_>) -> Option<String> {
        (self.0)(message)
    }
}

/// A function that makes the next agent's history of the whole transcript, in place of a summary.
#[derive(Clone)]
pub struct HistoryMapper(Arc<dyn Fn(Vec<Item>) -> Vec<Item> + Send + Sync>);

impl HistoryMapper {
    /// This function as a mapper.
    pub fn new(map: impl Fn(Vec<Item>) -> Vec<Item> + Send + Sync + 'static) -> Self {
        Self(Arc::new(map))
    }

    /// The history made of a transcript.
    pub fn map(&self, transcript: Vec<Item>) -> Vec<Item> {
        (self.0)(transcript)
    }
}

/// A function that makes a run's input of what the session holds and what is new.
#[derive(Clone)]
pub struct SessionInputCallback(Arc<MergeSession>);

type MergeSession = dyn Fn(Vec<Item>, Vec<Item>) -> Vec<Item> + Send + Sync;

impl SessionInputCallback {
    /// This function of stored and new items as a callback.
    pub fn new(merge: impl Fn(Vec<Item>, Vec<Item>) -> Vec<Item> + Send + Sync + 'static) -> Self {
        Self(Arc::new(merge))
    }

    /// The input made of both.
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
