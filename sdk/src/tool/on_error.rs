//! Rules for a failed call of a tool: the message for the model, or the end of the run.
//!
//! # Design
//! **A tool's error is hidden from the model.** Error messages hold paths, addresses and names that
//! a conversation should not have. The model gets one fixed sentence, also for arguments that do
//! not fit, and the error message stays in history. `ToolError::tell_model` sends a message to the
//! model, and makes that visible in the code.

use std::{fmt, sync::Arc};

use super::{context::CallInfo, schema::Issue};

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
/// | [kind](ToolFailureKind) | retried first | what the model gets by `Standard` | `tell` is called |
/// |---|---|---|---|
/// | `Arguments` | no | [`TOOL_FAILED`] | yes |
/// | `Told` | no | the tool's own message | no |
/// | `Failed` | if it is transient | [`TOOL_FAILED`] | yes |
/// | `Panicked` | yes | [`TOOL_FAILED`]; [`OUTCOME_UNKNOWN`] if not idempotent | yes |
/// | `TimedOut` | yes | `Tool 'name' timed out after 20 seconds.` | no |
/// | `OutcomeUnknown` | no | [`OUTCOME_UNKNOWN`] | no |
/// | `Oversized` | no | its size, the limit, and advice to request less, or not to repeat it | yes |
/// | `Agent` | no | [`TOOL_FAILED`] | yes |
/// | `NotRegistered`, `SessionLost` | see these kinds | nothing: the run ends | no |
///
/// The function of `by_kind` is called for all kinds, and `FailRun` ends the run with any kind.
/// `RunConfig::tool_error_formatter` is called last, if no other rule has returned a message. A
/// call that a person rejected has not failed: the model gets the person's message, or `Tool
/// execution was not approved.`
///
/// # Source
/// `failure_error_function` of the OpenAI Agents SDK; [`ByKind`](Self::ByKind) is an addition of
/// this library.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum OnToolError {
    /// The rule of the run's `RunConfig::on_tool_error`: by default a fixed message that hides the
    /// error, or the message of the run's error formatter.
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

/// A function that returns the message that the model gets for a failed call.
pub type DescribeFailure = Arc<dyn Fn(&ToolFailure<'_>) -> String + Send + Sync>;

/// A function that returns the message that the model gets for some failed calls.
pub type DescribeFailureByKind = Arc<dyn Fn(&ToolFailure<'_>) -> Option<String> + Send + Sync>;

/// The kind of a tool call's failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolFailureKind {
    /// The arguments do not fit the schema; [`ToolFailure::issues`] lists the violations. The body
    /// has not run.
    Arguments,
    /// The body failed with [`ToolError::tell_model`](super::ToolError::tell_model).
    Told,
    /// The body failed with any other error.
    Failed,
    /// The body panicked at its last attempt.
    Panicked,
    /// No attempt ended before its timeout.
    TimedOut,
    /// The only attempt timed out or lost its worker, and the tool is not idempotent: it may have
    /// taken effect.
    OutcomeUnknown,
    /// Arguments, or an output, are larger than the limit. (For an output the body has run.)
    Oversized,
    /// No worker knows the tool, or the server does not know the Nexus endpoint. Unless a rule
    /// returns a message for the model, the run ends. The run has waited for a worker that has the
    /// tool by then, five minutes at most: a deploy may be starting one.
    NotRegistered,
    /// The agent that runs as the tool failed.
    Agent,
    /// The session with a stateful MCP server is lost, and so is its state. Unless a rule returns a
    /// message for the model, the run ends.
    SessionLost,
}

/// A failed call of a tool.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ToolFailure<'a> {
    /// The call that failed.
    pub call: &'a CallInfo,
    /// The tool's own error message.
    pub error: &'a str,
    /// The kind of the failure.
    pub kind: ToolFailureKind,
    /// The violations of the schema, field by field; empty for other kinds, and for arguments that
    /// are not a JSON object.
    pub issues: &'a [Issue],
}

impl<'a> ToolFailure<'a> {
    /// Creates a failure of the kind [`Failed`](ToolFailureKind::Failed) with this error message.
    pub fn new(call: &'a CallInfo, error: &'a str) -> Self {
        Self { call, error, kind: ToolFailureKind::Failed, issues: &[] }
    }

    /// Sets the kind of the failure, and the violations of the schema.
    #[must_use]
    pub fn of_kind(mut self, kind: ToolFailureKind, issues: &'a [Issue]) -> Self {
        (self.kind, self.issues) = (kind, issues);
        self
    }

    /// Returns the violations of the schema in a form that a model can use: a sentence and a JSON
    /// list of `{"field", "constraint", "allowed"}`. It repeats nothing of the arguments
    /// themselves.
    pub fn issues_message(&self) -> String {
        match serde_json::to_string(self.issues) {
            Ok(issues) if !self.issues.is_empty() => format!("{}. What does not fit: {issues}", self.error),
            _ => self.error.to_owned(),
        }
    }
}

impl OnToolError {
    /// Returns the rule by which the model gets this function's message for arguments that do not
    /// fit, errors of the body, panics and outputs that are too large. (Messages about timeouts are
    /// not changed, nor are those of the tool itself; the function of [`by_kind`](Self::by_kind) is
    /// called for every kind.)
    ///
    /// # Determinism
    /// The function runs in the workflow, and again on replay.
    pub fn tell(describe: impl Fn(&ToolFailure<'_>) -> String + Send + Sync + 'static) -> Self {
        Self::Tell(Arc::new(describe))
    }

    /// Returns the rule by which the model gets this function's message for a failure of any
    /// [kind](ToolFailureKind). Where the function returns `None`, the call is handled as by
    /// [`Standard`](Self::Standard).
    ///
    /// ```
    /// use temporal_agents::tool::{OnToolError, ToolFailureKind};
    ///
    /// let rule = OnToolError::by_kind(|failure| match failure.kind {
    ///     ToolFailureKind::Arguments => Some(failure.issues_message()),
    ///     ToolFailureKind::NotRegistered => Some("This tool is being deployed. Go on without it.".to_owned()),
    ///     _ => None,
    /// });
    /// # let _ = rule;
    /// ```
    ///
    /// # Determinism
    /// The function runs in the workflow, and again on replay.
    pub fn by_kind(describe: impl Fn(&ToolFailure<'_>) -> Option<String> + Send + Sync + 'static) -> Self {
        Self::ByKind(Arc::new(describe))
    }

    /// Returns the rule by which the model gets the violations, field by field, for arguments that
    /// do not fit, so that it can write better arguments. Other failures are handled as by
    /// [`Standard`](Self::Standard). Set it for one tool with `.on_error(..)`, for a whole run with
    /// `Runner::on_tool_error` or `RunConfig::on_tool_error`.
    ///
    /// ```
    /// # use temporal_agents::{Agent, inline::InlineRunner, tool::OnToolError};
    /// let runner = InlineRunner::new().on_tool_error(OnToolError::describe_argument_errors());
    /// # let _ = runner;
    /// ```
    pub fn describe_argument_errors() -> Self {
        Self::by_kind(|failure| (failure.kind == ToolFailureKind::Arguments).then(|| failure.issues_message()))
    }

    /// Returns the rule by which the model gets [`TOOL_FAILED`], without a call of the run's error
    /// formatter.
    pub fn fixed_message() -> Self {
        Self::tell(|_| TOOL_FAILED.to_owned())
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
