//! What a failed call of a tool comes to.
//!
//! # Design
//! **A tool's error is hidden from the model.** Error messages hold paths, addresses and names that
//! a conversation should not have. The model gets one fixed sentence, also for arguments that do
//! not fit, and the message stays in history. `ToolError::tell_model` tells the model something,
//! and shows in the code that it does.

use std::{fmt, sync::Arc};

use super::{context::CallInfo, schema::Issue};

/// What a model gets for a tool that failed: nothing of the error, which may hold what no conversation should.
pub const TOOL_FAILED: &str = "An error occurred while running the tool. Please try again.";

/// What a model gets for a tool that must not run twice and whose only attempt broke off: no invitation to try again.
pub const OUTCOME_UNKNOWN: &str =
    "The tool call was interrupted. It is not known whether it took effect. Do not repeat it.";

/// What a failed call of a tool comes to: arguments that do not fit, an error of the body, a timeout.
///
/// | [kind](ToolFailureKind) | tried again first | what the model gets by `Standard` | `tell` is asked |
/// |---|---|---|---|
/// | `Arguments` | no | [`TOOL_FAILED`] | yes |
/// | `Told` | no | the tool's own text | no |
/// | `Failed` | where it is transient | [`TOOL_FAILED`] | yes |
/// | `Panicked` | yes | [`TOOL_FAILED`]; [`OUTCOME_UNKNOWN`] of a tool that is not idempotent | yes |
/// | `TimedOut` | yes | `Tool 'name' timed out after 20 seconds.` | no |
/// | `OutcomeUnknown` | no | [`OUTCOME_UNKNOWN`] | no |
/// | `Oversized` | no | how large it was, the limit, and to ask for less | yes |
/// | `Agent` | no | [`TOOL_FAILED`] | yes |
/// | `NotRegistered`, `SessionLost` | see there | nothing: the run ends | no |
///
/// `by_kind` is asked of all of them, `FailRun` ends the run with any. `RunConfig::tool_error_formatter` has the last word where nobody else
/// has said anything. A call that a person rejected has not failed: the model gets the person's text, or `Tool execution was not approved.`
///
/// # Source
/// `failure_error_function` of the OpenAI Agents SDK; [`ByKind`](Self::ByKind) is ours.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum OnToolError {
    /// What the run says: by the rule of its `RunConfig::on_tool_error`, and by default a fixed text that hides the error, or what the run's error
    /// formatter says.
    #[default]
    Standard,
    /// The model gets what this function says; see [`OnToolError::tell`].
    Tell(DescribeFailure),
    /// The model gets what this function says of a failure of any kind, where it says something; see [`OnToolError::by_kind`].
    ByKind(DescribeSomeFailures),
    /// The run ends with any failed call of this tool, also where the body says [`ToolError::tell_model`](super::ToolError::tell_model) and where
    /// the model's arguments do not fit. Retries come first. (For one error that ends the run there is
    /// [`ToolError::fail_run`](super::ToolError::fail_run).)
    FailRun,
}

/// A function that says what the model gets for a failed call.
pub type DescribeFailure = Arc<dyn Fn(&ToolFailure<'_>) -> String + Send + Sync>;

/// A function that says what the model gets for some failed calls.
pub type DescribeSomeFailures = Arc<dyn Fn(&ToolFailure<'_>) -> Option<String> + Send + Sync>;

/// In what way a call has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolFailureKind {
    /// The arguments do not fit the schema; [`ToolFailure::issues`] says where. Nothing has run.
    Arguments,
    /// The body failed with [`ToolError::tell_model`](super::ToolError::tell_model).
    Told,
    /// The body failed.
    Failed,
    /// The body panicked at its last attempt.
    Panicked,
    /// No attempt ended in time.
    TimedOut,
    /// The only attempt ran out of time or lost its worker, and the tool is not idempotent: it may have taken effect.
    OutcomeUnknown,
    /// Arguments, or an output, are larger than the limit. (With an output the body has run.)
    Oversized,
    /// No worker knows the tool, or the server does not know the Nexus endpoint. Unless the model is told, the run ends. A worker that has the tool
    /// was waited for by then, five minutes at most: it may be on its way in a deploy.
    NotRegistered,
    /// The agent behind the tool failed.
    Agent,
    /// The session with a stateful MCP server is gone, and its state with it. Unless the model is told, the run ends.
    SessionLost,
}

/// A failed call.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ToolFailure<'a> {
    /// The call.
    pub call: &'a CallInfo,
    /// What went wrong, in the tool's own words.
    pub error: &'a str,
    /// In what way.
    pub kind: ToolFailureKind,
    /// What is wrong with the arguments, field by field; empty for other kinds, and for arguments that are no JSON object.
    pub issues: &'a [Issue],
}

impl<'a> ToolFailure<'a> {
    /// A call whose body failed like this.
    pub fn new(call: &'a CallInfo, error: &'a str) -> Self {
        Self { call, error, kind: ToolFailureKind::Failed, issues: &[] }
    }

    /// The same, in this way.
    #[must_use]
    pub fn of_kind(mut self, kind: ToolFailureKind, issues: &'a [Issue]) -> Self {
        (self.kind, self.issues) = (kind, issues);
        self
    }

    /// What is wrong with the arguments, in words that a model can act on: a sentence and a JSON list of
    /// `{"field", "constraint", "allowed"}`. It repeats nothing of the arguments themselves.
    pub fn issues_text(&self) -> String {
        match serde_json::to_string(self.issues) {
            Ok(issues) if !self.issues.is_empty() => format!("{}. What does not fit: {issues}", self.error),
            _ => self.error.to_owned(),
        }
    }
}

impl OnToolError {
    /// The model gets what this function says of arguments that do not fit, errors of the body, panics and outputs that are too large. (What is
    /// told of timeouts stays as it is, and so do texts of the tool itself; [`by_kind`](Self::by_kind) is asked of everything.)
    ///
    /// # Determinism
    /// It runs in the workflow, again on replay.
    pub fn tell(describe: impl Fn(&ToolFailure<'_>) -> String + Send + Sync + 'static) -> Self {
        Self::Tell(Arc::new(describe))
    }

    /// The model gets what this function says of a failure of any [kind](ToolFailureKind). Where it gives nothing, all is as with
    /// [`Standard`](Self::Standard).
    ///
    /// ```
    /// use temporal_agents::tool::{OnToolError, ToolFailureKind};
    ///
    /// let rule = OnToolError::by_kind(|failure| match failure.kind {
    ///     ToolFailureKind::Arguments => Some(failure.issues_text()),
    ///     ToolFailureKind::NotRegistered => Some("This tool is being deployed. Go on without it.".to_owned()),
    ///     _ => None,
    /// });
    /// # let _ = rule;
    /// ```
    ///
    /// # Determinism
    /// It runs in the workflow, again on replay.
    pub fn by_kind(describe: impl Fn(&ToolFailure<'_>) -> Option<String> + Send + Sync + 'static) -> Self {
        Self::ByKind(Arc::new(describe))
    }

    /// The model gets, for arguments that do not fit, what is wrong field by field, so that it can write better ones. Other failures are as with
    /// [`Standard`](Self::Standard). For one tool by `.on_error(..)`, for all of a run by `Runner::on_tool_error` or `RunConfig::on_tool_error`.
    ///
    /// ```
    /// # use temporal_agents::{Agent, tool::OnToolError, worker::InlineRunner};
    /// let runner = InlineRunner::new().on_tool_error(OnToolError::tell_arguments());
    /// # let _ = runner;
    /// ```
    pub fn tell_arguments() -> Self {
        Self::by_kind(|failure| (failure.kind == ToolFailureKind::Arguments).then(|| failure.issues_text()))
    }

    /// The model gets the fixed text, whatever the run's error formatter says.
    pub fn fixed_text() -> Self {
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
