//! Why an effect gave nothing.

use std::time::Duration;

use crate::{
    engine::EffectError,
    tool::{ToolError, ToolErrorKind},
    wire::Usage,
};

/// Why a model call gave nothing.
#[derive(Debug)]
#[non_exhaustive]
pub enum ModelEffectError {
    /// It was cancelled.
    Cancelled,
    /// The provider does not have the conversation any more that the call goes on from.
    ConversationLost {
        /// What went wrong, in the provider's own words.
        reason: String,
        /// The host's error.
        source: EffectError,
    },
    /// It failed, after all its attempts.
    Failed {
        /// What went wrong, in the provider's own words.
        reason: String,
        /// The host's error.
        source: EffectError,
    },
}

/// Why a session was not read or written.
#[derive(Debug)]
#[non_exhaustive]
pub enum SessionEffectError {
    /// The run was cancelled; a write may have been made.
    Cancelled,
    /// It failed, after all its attempts.
    Failed(EffectError),
}

/// Why a tool call gave nothing.
#[derive(Debug)]
#[non_exhaustive]
pub enum ToolEffectError {
    /// The tool failed; the model is told as the tool says.
    Failed {
        /// The text for the model, where the tool chose one.
        tell_model: Option<String>,
        /// What went wrong, in the tool's own words.
        message: String,
        /// What went wrong.
        source: EffectError,
    },
    /// The tool says that the run ends.
    FailsRun {
        /// Why, in the tool's own words.
        message: String,
        /// What went wrong.
        source: EffectError,
    },
    /// The body panicked at its last attempt.
    Panicked {
        /// The panic's message.
        message: String,
        /// What went wrong.
        source: EffectError,
    },
    /// It has run, and its output is larger than the tool or the server lets it be.
    Oversized {
        /// Which tool, how large, and the limit.
        message: String,
        /// What went wrong.
        source: EffectError,
    },
    /// No attempt ended in time.
    TimedOut {
        /// The time one attempt had.
        after: Duration,
        /// What went wrong.
        source: EffectError,
    },
    /// The only attempt broke off, and the tool is not idempotent: it may have taken effect.
    OutcomeUnknown {
        /// What went wrong.
        source: EffectError,
    },
    /// The agent behind the call failed, in a run of its own.
    Agent {
        /// What went wrong, in its own words.
        message: String,
        /// What it has used until then.
        usage: Usage,
        /// What went wrong.
        source: EffectError,
    },
    /// No worker on this task queue knows the tool.
    NotRegistered {
        /// The task queue.
        task_queue: String,
        /// For how long a worker that has it was waited for; `None` where the host did not wait.
        tried_for: Option<Duration>,
        /// What went wrong.
        source: EffectError,
    },
    /// What the tool stands for is not there; the error says what to do.
    Absent(EffectError),
    /// The session with a stateful MCP server is gone.
    SessionLost {
        /// Whether the call had begun by then: it may have taken effect.
        began: bool,
        /// What went wrong.
        source: EffectError,
    },
    /// It was cancelled.
    Cancelled,
    /// The host itself failed.
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

/// Why an MCP server listed nothing.
#[derive(Debug)]
#[non_exhaustive]
pub enum McpEffectError {
    /// It was cancelled.
    Cancelled,
    /// It failed, after all attempts.
    Failed(EffectError),
    /// The session is gone.
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
