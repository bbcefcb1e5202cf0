//! Rules for a failed call of a tool: the message for the model, or the end of the run.
//!
//! # Design
//! **A tool's error is hidden from the model.** Error messages hold paths, addresses and names that
//! a conversation should not have. The model gets one fixed sentence, and the error message stays
//! in history. `ToolError::tell_model` sends a message to the model, and makes that visible in the
//! code.
//!
//! **Arguments that do not fit are no secret.** The model wrote them, and it has the schema.
//! Without the field and the reason it writes the same arguments again, until the run is out of
//! turns. So it gets both, whether the schema refuses the arguments or the type that the body
//! takes. The message has paths, keywords and what is allowed; it repeats no value, and no text of
//! an author's `Deserialize`. Only a text that is not JSON at all gets the fixed sentence: the
//! Agents SDK fixes it for that case, and there is no field to name.
//! `OnToolError::describe_argument_errors` says it there as well, `OnToolError::fixed_message` says
//! nothing.

use std::{fmt, sync::Arc};

use super::{
    context::CallInfo,
    failure::{ToolFailure, ToolFailureKind},
};

/// The message that a model gets for a failed tool. It has no part of the error, which may hold
/// what no conversation should.
pub const TOOL_FAILED: &str = "An error occurred while running the tool. Please try again.";

/// The message that a model gets for a tool that must not run twice and whose only attempt was
/// interrupted. It does not ask for a retry.
pub const OUTCOME_UNKNOWN: &str =
    "The tool call was interrupted. It is not known whether it took effect. Do not repeat it.";

/// The rule for a failed call of a tool: arguments that do not fit, an error of the body, a
/// timeout.
///
/// | [kind](ToolFailureKind) | retried first | the model gets, by `Standard` | `tell` is called |
/// |---|---|---|---|
/// | `Arguments` | no | each field and what is allowed; [`TOOL_FAILED`] for a text that is not JSON | yes |
/// | `Told` | no | the tool's own message | no |
/// | `Failed` | if it is transient | [`TOOL_FAILED`] | yes |
/// | `Panicked` | yes | [`TOOL_FAILED`]; [`OUTCOME_UNKNOWN`] if not idempotent | yes |
/// | `TimedOut` | yes | `Tool 'name' timed out after 20 seconds.` | no |
/// | `OutcomeUnknown` | no | [`OUTCOME_UNKNOWN`] | no |
/// | `Oversized` | no | its size, the limit, and advice: request less, or do not repeat | yes |
/// | `Agent` | no | [`TOOL_FAILED`] | yes |
/// | `FailsRun` | no | nothing: the run ends | no |
/// | `NotRegistered`, `SessionLost` | see these kinds | nothing: the run ends | no |
///
/// The function of `by_kind` is called for all kinds but `FailsRun`, and `FailRun` ends the run
/// with any kind. `RunConfig::tool_error_formatter` is called last, if no other rule has returned a
/// message. A call that a person rejected has not failed: the model gets the person's message, or
/// `Tool execution was not approved.`
///
/// # Source
/// `failure_error_function` of the OpenAI Agents SDK; [`ByKind`](Self::ByKind) is an addition of
/// this library.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum OnToolError {
    /// The rule of the run's `RunConfig::on_tool_error`: by default a fixed message that hides the
    /// error, the fields of arguments that do not fit, or the message of the run's error formatter.
    #[default]
    Standard,
    /// The model gets the message that this function returns; see [`OnToolError::tell`].
    Tell(DescribeFailure),
    /// The model gets the message that this function returns for a failure of any kind, if it
    /// returns one; see [`OnToolError::by_kind`].
    ByKind(DescribeFailureByKind),
    /// The run ends with any failed call of this tool, also if the body returns
    /// [`ToolError::tell_model`](super::ToolError::tell_model) or the model's arguments do not fit.
    /// Retries come first. (For one error that ends the run there is
    /// [`ToolError::fail_run`](super::ToolError::fail_run).)
    FailRun,
}

/// A function of a call and its failure that returns the message that the model gets.
pub type DescribeFailure = Arc<dyn Fn(&CallInfo, &ToolFailure) -> String + Send + Sync>;

/// A function of a call and its failure that returns the message that the model gets for some
/// failures.
pub type DescribeFailureByKind = Arc<dyn Fn(&CallInfo, &ToolFailure) -> Option<String> + Send + Sync>;

impl OnToolError {
    /// Returns the rule by which the model gets this function's message for arguments that do not
    /// fit, errors of the body, panics and outputs that are too large. (Messages about timeouts are
    /// not changed, nor are those of the tool itself; the function of [`by_kind`](Self::by_kind) is
    /// called for every kind.)
    ///
    /// # Determinism
    /// The function runs in the workflow, and again on replay.
    pub fn tell(describe: impl Fn(&CallInfo, &ToolFailure) -> String + Send + Sync + 'static) -> Self {
        Self::Tell(Arc::new(describe))
    }

    /// Returns the rule by which the model gets this function's message for a failure of any
    /// [kind](ToolFailureKind). Where the function returns `None`, the call is handled as by
    /// [`Standard`](Self::Standard).
    ///
    /// ```
    /// # extern crate temporal_agents_core as temporal_agents;
    /// use temporal_agents::tool::{OnToolError, ToolFailureKind};
    ///
    /// let rule = OnToolError::by_kind(|_call, failure| match failure.kind {
    ///     ToolFailureKind::Arguments => Some(failure.issues_message()),
    ///     ToolFailureKind::NotRegistered => {
    ///         Some("This tool is being deployed. Continue without it.".to_owned())
    ///     }
    ///     _ => None,
    /// });
    /// # let _ = rule;
    /// ```
    ///
    /// # Determinism
    /// The function runs in the workflow, and again on replay.
    pub fn by_kind(describe: impl Fn(&CallInfo, &ToolFailure) -> Option<String> + Send + Sync + 'static) -> Self {
        Self::ByKind(Arc::new(describe))
    }

    /// Returns the rule by which the model gets the violations as JSON for arguments that do not
    /// fit, also for a text that is not JSON. Other failures are handled as by
    /// [`Standard`](Self::Standard), which also tells the fields, but in a sentence. Set it for one
    /// tool with `.on_error(..)`, for a whole run with `Runner::on_tool_error` or
    /// `RunConfig::on_tool_error`.
    ///
    /// ```
    /// # extern crate temporal_agents_core as temporal_agents;
    /// # use temporal_agents::{RunConfig, tool::OnToolError};
    /// let rule = OnToolError::describe_argument_errors();
    /// let config = RunConfig::builder().on_tool_error(rule).build();
    /// # let _ = config;
    /// ```
    pub fn describe_argument_errors() -> Self {
        Self::by_kind(|_call, failure| (failure.kind == ToolFailureKind::Arguments).then(|| failure.issues_message()))
    }

    /// Returns the rule by which the model gets the [retry hint](ToolFailure::retry_hint) of a
    /// failure that has one, as compact JSON. Other failures are handled as by
    /// [`Standard`](Self::Standard).
    pub fn retry_hints() -> Self {
        Self::by_kind(|_call, failure| failure.retry_hint().map(|hint| hint.to_string()))
    }

    /// Returns the rule by which the model gets [`TOOL_FAILED`], without a call of the run's error
    /// formatter.
    pub fn fixed_message() -> Self {
        Self::tell(|_call, _failure| TOOL_FAILED.to_owned())
    }
}

impl fmt::Debug for OnToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Standard => "Standard",
            Self::Tell(_) => "Tell(..)",
            Self::ByKind(_) => "ByKind(..)",
            Self::FailRun => "FailRun",
        })
    }
}
