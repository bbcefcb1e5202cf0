//! Errors of effects.

use std::time::Duration;

use crate::{
    tool::{BoxError, ToolError, ToolFailure},
    wire::Usage,
};

/// The error of a model call.
#[derive(Debug)]
#[non_exhaustive]
pub enum ModelEffectError {
    /// The call was cancelled.
    Cancelled,
    /// The provider no longer has the conversation that the call continues from.
    ConversationLost {
        /// The provider's own error message.
        reason: String,
        /// The host's error.
        source: BoxError,
    },
    /// The call failed, after all its attempts.
    Failed {
        /// The provider's own error message.
        reason: String,
        /// The host's error.
        source: BoxError,
    },
}

/// The error of a read or a write of a session.
#[derive(Debug)]
#[non_exhaustive]
pub enum SessionEffectError {
    /// The run was cancelled; a write may have taken effect.
    Cancelled,
    /// The read or write failed, after all its attempts.
    Failed(BoxError),
}

/// The error of a tool call: the failure of the tool, or an error for which the tool is not
/// responsible.
#[derive(Debug)]
pub enum ToolEffectError {
    /// The call failed, after all its attempts.
    Failed {
        /// The failure.
        failure: Box<ToolFailure>,
        /// Usage of a run that the call executed, until its failure.
        usage: Usage,
        /// The host's error.
        source: BoxError,
    },
    /// No worker on this task queue has the tool.
    NotRegistered {
        /// Name of the task queue.
        task_queue: String,
        /// Time for which the host waited for a worker that has the tool; `None` if it did not
        /// wait.
        tried_for: Option<Duration>,
        /// The host's error.
        source: BoxError,
    },
    /// The resource that the tool uses, for example a Nexus endpoint, does not exist; the error
    /// names the remedy.
    Absent(BoxError),
    /// The session with a stateful MCP server was lost.
    SessionLost {
        /// `true` if the call had begun before the loss: it may have taken effect.
        began: bool,
        /// The host's error.
        source: BoxError,
    },
    /// The call was cancelled.
    Cancelled,
    /// The host failed.
    Host(BoxError),
}

impl ToolEffectError {
    /// Creates the error of a call that failed without usage.
    pub fn failed(failure: ToolFailure, source: impl Into<BoxError>) -> Self {
        Self::Failed { failure: Box::new(failure), usage: Usage::default(), source: source.into() }
    }
}

impl From<ToolFailure> for ToolEffectError {
    fn from(failure: ToolFailure) -> Self {
        let source = failure.message.clone();
        Self::failed(failure, source)
    }
}

impl From<ToolError> for ToolEffectError {
    fn from(error: ToolError) -> Self {
        let (failure, source) = error.into_parts();
        Self::failed(failure, source)
    }
}

/// The error of a request to a source or store of the process: for toolsets, or for kept decisions.
#[derive(Debug)]
#[non_exhaustive]
pub enum SourceEffectError {
    /// The run was cancelled.
    Cancelled,
    /// The request failed, after all its attempts.
    Failed(BoxError),
}

impl From<BoxError> for SourceEffectError {
    fn from(source: BoxError) -> Self {
        Self::Failed(source)
    }
}

/// The error of a request to an MCP server for its tools or for a session.
#[derive(Debug)]
pub enum McpEffectError {
    /// The request was cancelled.
    Cancelled,
    /// The request failed, after all its attempts.
    Failed(BoxError),
    /// The session was lost.
    SessionLost(BoxError),
}

impl From<BoxError> for McpEffectError {
    fn from(source: BoxError) -> Self {
        Self::Failed(source)
    }
}

impl From<BoxError> for SessionEffectError {
    fn from(source: BoxError) -> Self {
        Self::Failed(source)
    }
}
