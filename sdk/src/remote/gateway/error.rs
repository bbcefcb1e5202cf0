//! The errors of calls, with the codes of the protocol.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::{health::Unhealthy, toolset::shown};
use crate::remote::{message::FieldIssue, transport::StreamError};

/// The error of a call through a gateway.
///
/// # Retries
/// A gateway retries nothing. [`Unhealthy`](Self::Unhealthy), [`Unreachable`](Self::Unreachable)
/// and [`ResultTimeout`](Self::ResultTimeout) may pass. After
/// [`OutcomeUnknown`](Self::OutcomeUnknown) the call may have been made: repeat it only if its tool
/// is idempotent.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GatewayError {
    /// No toolset of this name is registered.
    #[error("toolset {toolset:?} is not registered")]
    ToolsetNotFound {
        /// Name of the toolset.
        toolset: String,
    },
    /// The toolset has no tool of this name.
    #[error("toolset {toolset:?} has no tool {tool:?}; it has: {known}")]
    ToolNotFound {
        /// Name of the toolset.
        toolset: String,
        /// Name of the tool.
        tool: String,
        /// Names of the tools that it has, joined with commas; at most 20.
        known: String,
    },
    /// The payload does not fit the schema of the tool.
    #[error("the payload does not fit tool {tool:?} of toolset {toolset:?}: {}", fields(issues))]
    InvalidPayload {
        /// Name of the toolset.
        toolset: String,
        /// Name of the tool.
        tool: String,
        /// The arguments that do not fit; at most 100.
        issues: Vec<FieldIssue>,
    },
    /// The toolset has no provider at work: its last pong is older than the threshold, or it has
    /// sent none.
    #[error("toolset {toolset:?} is unhealthy: threshold {threshold:?}, {}", pong(*last_pong, *age))]
    Unhealthy {
        /// Name of the toolset.
        toolset: String,
        /// Greatest age of the last pong of a healthy toolset.
        threshold: Duration,
        /// Time of the last pong.
        last_pong: Option<SystemTime>,
        /// Age of the last pong.
        age: Option<Duration>,
    },
    /// The call was not published.
    #[error("the call was not published")]
    Unreachable {
        /// The error of the stream.
        source: StreamError,
    },
    /// The call may have been published and made, but its result cannot be read.
    #[error("call {tool_use_id:?} may have taken effect, and its result is lost: {reason}")]
    OutcomeUnknown {
        /// Id of the call.
        tool_use_id: String,
        /// The reason.
        reason: String,
    },
    /// The call has no result yet.
    #[error("call {tool_use_id:?} has no result after {waited:?}")]
    ResultTimeout {
        /// Id of the call.
        tool_use_id: String,
        /// Time waited.
        waited: Duration,
    },
}

impl GatewayError {
    /// Returns the code of the error, as it is on the wire of the protocol: `not_found`,
    /// `validation_error`, `service_unavailable`, `outcome_unknown` or `timeout`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::ToolsetNotFound { .. } | Self::ToolNotFound { .. } => "not_found",
            Self::InvalidPayload { .. } => "validation_error",
            Self::Unhealthy { .. } | Self::Unreachable { .. } => "service_unavailable",
            Self::OutcomeUnknown { .. } => crate::remote::OUTCOME_UNKNOWN_CODE,
            Self::ResultTimeout { .. } => "timeout",
        }
    }

    pub(super) fn toolset_not_found(toolset: &str) -> Self {
        Self::ToolsetNotFound { toolset: shown(toolset) }
    }

    pub(super) fn unhealthy(toolset: &str, Unhealthy { threshold, last_pong }: Unhealthy) -> Self {
        let (last_pong, age) = last_pong.unzip();
        Self::Unhealthy { toolset: shown(toolset), threshold, last_pong: last_pong.map(|at| UNIX_EPOCH + at), age }
    }

    pub(super) fn outcome_unknown(tool_use_id: &str, reason: impl ToString) -> Self {
        Self::OutcomeUnknown { tool_use_id: tool_use_id.to_owned(), reason: reason.to_string() }
    }
}

/// Returns the last pong as a part of a message.
fn pong(last_pong: Option<SystemTime>, age: Option<Duration>) -> String {
    let Some((last_pong, age)) = last_pong.zip(age) else { return String::from("last pong never") };
    format!("last pong {}, age {age:.1?}", prost_types::Timestamp::from(last_pong))
}

/// Returns the fields of issues as a part of a message.
fn fields(issues: &[FieldIssue]) -> String {
    let each = issues.iter().map(|FieldIssue { field, constraint, .. }| {
        format!("{} ({constraint})", if field.is_empty() { "(root)" } else { field })
    });
    each.collect::<Vec<_>>().join(", ")
}
