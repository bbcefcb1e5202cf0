//! The failure of a tool call: its kind, its messages, and its forms outside of the process.
//!
//! A host that makes a call returns it, the rules of [`OnToolError`](super::OnToolError) receive
//! it, and a `ToolRegistry` returns it. An error for which the tool is not responsible is not a
//! failure of the tool: a cancellation, or a host that cannot make the call.
//!
//! # Design
//! **Each form outside of the process is converted in one place, here.** An activity fails with an
//! application failure of one of four types, whose detail is the message for the model, with the
//! error's code, issues and example if it has them. A body that refuses its arguments, because they
//! are not of its Rust type, fails in the same way and marks the detail. The checkpoint of a
//! session has `wire::ToolFailed` for the kinds that another attempt must not determine again.

use std::{fmt, time::Duration};

use serde_json::{Map, Value, json};

use super::{
    bounds::value_of,
    oversized::OutputTooLarge,
    redaction::Redaction,
    schema::{InvalidArguments, Issue, cut_text},
};
use crate::wire::session_checkpoint::ToolFailed;
use crate::wire::{
    error_debug,
    failure::{TOOL_ERROR, TOOL_FAILS_RUN, TOOL_OUTPUT_TOO_LARGE, TOOL_PANICKED},
    tool_error::{FailureDetail, ToolErrorDetails},
};

/// Most bytes of the arguments that a retry hint repeats.
const MAX_ARGUMENTS_BYTES: usize = 2_000;

/// The kind of a tool call's failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolFailureKind {
    /// The arguments do not fit the schema, or are not of the type that the body takes;
    /// [`ToolFailure::issues`] lists the violations. The body has not run.
    Arguments,
    /// The body failed with [`ToolError::tell_model`](super::ToolError::tell_model).
    Told,
    /// The body failed with any other error.
    Failed,
    /// The body failed with [`ToolError::fail_run`](super::ToolError::fail_run): the run ends, and
    /// no rule is called.
    FailsRun,
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

/// The failure of a tool call.
///
/// Rules read it: [`OnToolError::tell`](super::OnToolError::tell) and
/// [`by_kind`](super::OnToolError::by_kind) have examples. A test of a rule creates one with
/// [`new`](Self::new).
///
/// `Display` writes the [reason](Self::reason), and for arguments the violations of the schema: for
/// logs, not for a model.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolFailure {
    /// Kind of the failure.
    pub kind: ToolFailureKind,
    /// Error message of the tool, or of the host for a call that has no result. After a timeout,
    /// and for an unknown outcome, the fixed message in [`tell_model`](Self::tell_model).
    pub message: String,
    /// The message for the model, if the failure determines it: that of
    /// [`ToolError::tell_model`](super::ToolError::tell_model), the sentence about a timeout or an
    /// unknown outcome. For other failures the rule [`OnToolError`](super::OnToolError) determines
    /// the message.
    pub tell_model: Option<String>,
    /// The arguments that do not fit: for the kind [`Arguments`](ToolFailureKind::Arguments) the
    /// violations, field by field (none if they are not JSON), and what the body reported with
    /// [`ToolError::issue`](super::ToolError::issue).
    pub issues: Vec<Issue>,
    /// The code that the body set with [`ToolError::code`](super::ToolError::code), or a provider
    /// of remote tools; empty for a failure without one.
    pub code: String,
    /// Arguments that would fit, of [`ToolError::example`](super::ToolError::example).
    pub example: Option<Value>,
    /// The arguments of the call, for [`retry_hint`](Self::retry_hint).
    pub(crate) arguments: PriorArguments,
    /// The time limit of one attempt, for the kind [`TimedOut`](ToolFailureKind::TimedOut).
    pub time_limit: Option<Duration>,
}

error_debug!(struct ToolFailure { kind, message, tell_model, issues, code, example, arguments, time_limit });

/// The arguments of a call, as the model wrote them; they may be private, so they are not logged.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct PriorArguments(String);

impl PriorArguments {
    /// Keeps at most 2,000 bytes.
    pub(crate) fn of(arguments: &str) -> Self {
        Self(cut_text(arguments, MAX_ARGUMENTS_BYTES))
    }
}

impl fmt::Debug for PriorArguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("..")
    }
}

impl ToolFailure {
    /// Creates a failure with this error message only.
    pub fn new(kind: ToolFailureKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            tell_model: None,
            issues: Vec::new(),
            code: String::new(),
            example: None,
            arguments: PriorArguments::default(),
            time_limit: None,
        }
    }

    /// Creates the failure of a body that returned an error, with the message for the model if the
    /// error has one.
    pub(crate) fn returned(message: impl Into<String>, tell_model: Option<String>) -> Self {
        let kind = if tell_model.is_some() { ToolFailureKind::Told } else { ToolFailureKind::Failed };
        Self { tell_model, ..Self::new(kind, message) }
    }

    /// Creates the failure of a call with no attempt that ended within this time limit.
    #[doc(hidden)]
    pub fn timed_out(time_limit: Duration, message: impl Into<String>) -> Self {
        Self { time_limit: Some(time_limit), ..Self::new(ToolFailureKind::TimedOut, message) }
    }

    /// Returns the message for the model after a call of this tool that did not end within `limit`.
    #[doc(hidden)]
    pub fn timed_out_message(tool: &str, limit: Duration) -> String {
        let seconds = limit.as_secs_f64();
        let unit = if limit == Duration::from_secs(1) { "second" } else { "seconds" };
        format!("Tool '{tool}' timed out after {seconds} {unit}.")
    }

    /// Returns the message for the model if the failure determines it, otherwise the error message.
    pub fn reason(&self) -> &str {
        self.tell_model.as_deref().unwrap_or(&self.message)
    }

    /// Returns the reason in a form that a model can use: a sentence, the code in brackets, a JSON
    /// list of the issues as `{"field", "constraint", "allowed"}`, and the example. It repeats
    /// nothing of the arguments themselves.
    pub fn issues_message(&self) -> String {
        let mut text = self.reason().to_owned();
        if !self.code.is_empty() {
            text = format!("{text} ({})", self.code);
        }
        if let (false, Ok(issues)) = (self.issues.is_empty(), serde_json::to_string(&self.issues)) {
            text = format!("{text}. What does not fit: {issues}");
        }
        if let Some(example) = &self.example {
            text = format!("{text}. Arguments that fit: {example}");
        }
        text
    }

    /// Returns what the model needs to write a better call, as a JSON object; `None` if the failure
    /// says nothing of its arguments.
    ///
    /// | member | |
    /// |---|---|
    /// | `reason` | `missing_fields`, `invalid_arguments` or `timeout` |
    /// | `message` | the [reason](Self::reason) of the failure; absent for one that is hidden |
    /// | `code` | absent without one |
    /// | `fields` | the issues, as `{"field", "constraint", "allowed"}`; absent without any |
    /// | `prior_input` | the arguments of the call, truncated to 2,000 bytes |
    /// | `example_input` | arguments that would fit; absent without an example |
    ///
    /// # Source
    /// `RetryHint` of goa-ai.
    pub fn retry_hint(&self) -> Option<Value> {
        let is_missing = self.issues.iter().any(|issue| matches!(&*issue.constraint, "required" | "missing_field"));
        let reason = match (self.kind, &*self.code) {
            _ if is_missing => "missing_fields",
            (ToolFailureKind::Arguments, _) | (_, "invalid_arguments" | "invalid_input") => "invalid_arguments",
            (ToolFailureKind::TimedOut, _) | (_, "timeout") => "timeout",
            _ if !self.issues.is_empty() => "invalid_arguments",
            _ => return None,
        };
        let mut hint = Map::from_iter([("reason".to_owned(), json!(reason))]);
        let mut add = |name: &str, value: Value| hint.insert(name.to_owned(), value);
        if let Some(message) = &self.tell_model {
            add("message", json!(message));
        }
        if !self.code.is_empty() {
            add("code", json!(self.code));
        }
        if !self.issues.is_empty() {
            add("fields", json!(self.issues));
        }
        if !self.arguments.0.is_empty() {
            add("prior_input", value_of(self.arguments.0.clone()));
        }
        if let Some(example) = &self.example {
            add("example_input", example.clone());
        }
        Some(Value::Object(hint))
    }

    /// Returns the failure with its code, issues and example.
    pub(crate) fn with_details(self, details: ToolErrorDetails) -> Self {
        let ToolErrorDetails { code, issues, example } = details;
        Self { issues, code, example, ..self }
    }

    /// Returns code, issues and example.
    pub(crate) fn details(&self) -> ToolErrorDetails {
        let Self { code, issues, example, .. } = self;
        ToolErrorDetails { code: code.clone(), issues: issues.clone(), example: example.clone() }
    }

    /// Returns the failure with its messages redacted, if the body wrote them.
    #[doc(hidden)]
    #[must_use]
    pub fn redacted(self, redaction: &Redaction) -> Self {
        match self.kind {
            ToolFailureKind::Told | ToolFailureKind::Failed | ToolFailureKind::FailsRun | ToolFailureKind::Panicked => {
                let details = ToolErrorDetails {
                    code: redaction.text(&self.code),
                    issues: self.issues.iter().map(|issue| redaction.issue(issue)).collect(),
                    example: self.example.clone().map(|example| redaction.value(example)),
                };
                self.with_messages(|message| redaction.text(message)).with_details(details)
            }
            _ => self,
        }
    }

    /// Returns the failure with its messages changed by a function.
    #[doc(hidden)]
    #[must_use]
    pub fn with_messages(self, change: impl Fn(&str) -> String) -> Self {
        let tell_model = self.tell_model.as_deref().map(&change);
        Self { message: change(&self.message), tell_model, ..self }
    }
}

/// The form in the failure of an activity: its type, its message, and its first detail.
impl ToolFailure {
    /// Returns the failure type of an activity that fails in this way.
    #[doc(hidden)]
    pub fn activity_failure_type(&self) -> &'static str {
        match self.kind {
            ToolFailureKind::FailsRun => TOOL_FAILS_RUN,
            ToolFailureKind::Panicked => TOOL_PANICKED,
            ToolFailureKind::Oversized => TOOL_OUTPUT_TOO_LARGE,
            _ => TOOL_ERROR,
        }
    }

    /// Reads the failure of an activity of this library. One of an unknown type is the error of a
    /// body.
    #[doc(hidden)]
    pub fn of_activity(failure_type: Option<&str>, message: String, detail: FailureDetail) -> Self {
        let kind = match failure_type {
            Some(TOOL_FAILS_RUN) => ToolFailureKind::FailsRun,
            Some(TOOL_PANICKED) => ToolFailureKind::Panicked,
            Some(TOOL_OUTPUT_TOO_LARGE) => ToolFailureKind::Oversized,
            Some(TOOL_ERROR) => return Self::of_detail(message, detail),
            _ => return Self::of_error(failure_type, message, detail),
        };
        Self::new(kind, message)
    }

    /// Reads the failure of a body of this library.
    fn of_detail(message: String, detail: FailureDetail) -> Self {
        let FailureDetail { tell_model, invalid_arguments, details } = detail;
        let mut failure = Self::returned(message, tell_model).with_details(details);
        if invalid_arguments {
            failure.kind = ToolFailureKind::Arguments;
        }
        failure
    }

    /// Reads the failure of any activity or workflow, also of another library: of its types, only
    /// that of an error with a message for the model means something.
    #[doc(hidden)]
    pub fn of_error(failure_type: Option<&str>, message: String, detail: FailureDetail) -> Self {
        // Only a body of this library says that it has not run.
        let FailureDetail { tell_model, invalid_arguments: _, details } =
            if failure_type == Some(TOOL_ERROR) { detail } else { FailureDetail::default() };
        Self::returned(message, tell_model).with_details(details)
    }

    /// Returns the detail of the failure of an activity that fails in this way.
    #[doc(hidden)]
    pub fn detail(&self) -> FailureDetail {
        let invalid_arguments = self.kind == ToolFailureKind::Arguments;
        FailureDetail { tell_model: self.tell_model.clone(), invalid_arguments, details: self.details() }
    }
}

/// The form in the checkpoint of a session.
impl ToolFailure {
    /// Returns the form of the failure beside its message; `None` for a kind that another attempt
    /// determines again.
    #[doc(hidden)]
    pub fn recorded(&self) -> Option<ToolFailed> {
        match self.kind {
            ToolFailureKind::Told | ToolFailureKind::Failed | ToolFailureKind::Arguments => {
                Some(ToolFailed::Error { detail: Box::new(self.detail()) })
            }
            ToolFailureKind::Panicked => Some(ToolFailed::Panic),
            ToolFailureKind::Oversized => Some(ToolFailed::Oversized),
            ToolFailureKind::TimedOut => self.time_limit.map(|after| ToolFailed::Timeout { after }),
            ToolFailureKind::OutcomeUnknown => Some(ToolFailed::OutcomeUnknown),
            ToolFailureKind::FailsRun
            | ToolFailureKind::NotRegistered
            | ToolFailureKind::Agent
            | ToolFailureKind::SessionLost => None,
        }
    }

    /// Reads a recorded failure.
    #[doc(hidden)]
    pub fn of_record(recorded: ToolFailed, message: String) -> Self {
        match recorded {
            ToolFailed::Error { detail } => Self::of_detail(message, *detail),
            ToolFailed::Panic => Self::new(ToolFailureKind::Panicked, message),
            ToolFailed::Oversized => Self::new(ToolFailureKind::Oversized, message),
            ToolFailed::Timeout { after } => Self::timed_out(after, message),
            ToolFailed::OutcomeUnknown => Self::new(ToolFailureKind::OutcomeUnknown, message),
        }
    }
}

impl From<InvalidArguments> for ToolFailure {
    fn from(invalid: InvalidArguments) -> Self {
        let message = invalid.to_string();
        Self { issues: invalid.issues, ..Self::new(ToolFailureKind::Arguments, message) }
    }
}

impl From<OutputTooLarge> for ToolFailure {
    fn from(too_large: OutputTooLarge) -> Self {
        Self::new(ToolFailureKind::Oversized, too_large.to_string())
    }
}

impl fmt::Display for ToolFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason())?;
        for (place, issue) in self.issues.iter().enumerate() {
            write!(f, "{} {issue}", if place == 0 { ":" } else { ";" })?;
        }
        Ok(())
    }
}

impl std::error::Error for ToolFailure {}

#[cfg(test)]
mod tests;
