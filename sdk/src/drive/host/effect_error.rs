//! Errors of effects.

use std::time::Duration;

use crate::{
    engine::EffectError,
    tool::{ToolError, ToolErrorKind},
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
        source: EffectError,
    },
    /// The call failed, after all its attempts.
    Failed {
        /// The provider's own error message.
        reason: String,
        /// The host's error.
        source: EffectError,
    },
}

/// The error of a read or a write of a session.
#[derive(Debug)]
#[non_exhaustive]
pub enum SessionEffectError {
    /// The run was cancelled; a write may have taken effect.
    Cancelled,
    /// The read or write failed, after all its attempts.
    Failed(EffectError),
}

/// The error of a tool call.
#[derive(Debug)]
#[non_exhaustive]
pub enum ToolEffectError {
    /// The tool failed, and its own rule determines the message for the model.
    Failed {
        /// The message for the model, if the tool chose one.
        tell_model: Option<String>,
        /// The tool's own error message.
        message: String,
        /// The host's error.
        source: EffectError,
    },
    /// The tool failed with an error that ends the run.
    FailsRun {
        /// The tool's own error message.
        message: String,
        /// The host's error.
        source: EffectError,
    },
    /// The body panicked in its last attempt.
    Panicked {
        /// Message of the panic.
        message: String,
        /// The host's error.
        source: EffectError,
    },
    /// The tool ran, and its output exceeds the limit of the tool or of the server.
    Oversized {
        /// The tool, the size of the output, and the limit.
        message: String,
        /// The host's error.
        source: EffectError,
    },
    /// No attempt ended in time.
    TimedOut {
        /// Time limit of one attempt.
        after: Duration,
        /// The host's error.
        source: EffectError,
    },
    /// The only attempt was interrupted, and the tool is not idempotent: the call may have taken
    /// effect.
    OutcomeUnknown {
        /// The host's error.
        source: EffectError,
    },
    /// The agent that the call runs failed, in a run of its own.
    Agent {
        /// The agent run's own error message.
        message: String,
        /// Usage of the agent run until its failure.
        usage: Usage,
        /// The host's error.
        source: EffectError,
    },
    /// No worker on this task queue has the tool.
    NotRegistered {
        /// Name of the task queue.
        task_queue: String,
        /// Time for which the host waited for a worker that has the tool; `None` if it did not
        /// wait.
        tried_for: Option<Duration>,
        /// The host's error.
        source: EffectError,
    },
    /// The resource that the tool uses, for example a Nexus endpoint, does not exist; the error
    /// names the remedy.
    Absent(EffectError),
    /// The session with a stateful MCP server was lost.
    SessionLost {
        /// `true` if the call had begun before the loss: it may have taken effect.
        began: bool,
        /// The host's error.
        source: EffectError,
    },
    /// The call was cancelled.
    Cancelled,
    /// The host failed.
    Host(EffectError),
}

impl From<&ToolError> for ToolEffectError {
    fn from(error: &ToolError) -> Self {
        let (message, source) = (error.message().to_owned(), error.message().into());
        match error.kind() {
            ToolErrorKind::FailRun => Self::FailsRun { message, source },
            ToolErrorKind::TellModel => Self::Failed { tell_model: Some(message.clone()), message, source },
            ToolErrorKind::Failed | ToolErrorKind::Transient => Self::Failed { tell_model: None, message, source },
        }
    }
}

/// The error of a request to an MCP server for its tools or for a session.
#[derive(Debug)]
#[non_exhaustive]
pub enum McpEffectError {
    /// The request was cancelled.
    Cancelled,
    /// The request failed, after all its attempts.
    Failed(EffectError),
    /// The session was lost.
    SessionLost(EffectError),
}

impl From<EffectError> for McpEffectError {
    fn from(source: EffectError) -> Self {
        Self::Failed(source)
    }
}

impl From<EffectError> for SessionEffectError {
    fn from(source: EffectError) -> Self {
        Self::Failed(source)
    }
}
