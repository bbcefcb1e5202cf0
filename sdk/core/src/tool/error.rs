//! The error type of tools.

use std::{error::Error, fmt};

use serde_json::Value;

use super::{
    failure::{ToolFailure, ToolFailureKind},
    schema::{InvalidArguments, InvalidArgumentsKind, Issue, MAX_ISSUES, NotOfType, cut_text, cut_value},
};

/// Most bytes of a code.
const MAX_CODE_BYTES: usize = 100;

/// Any error: of a function that the author wrote, of a store, of a host. `?` converts an error
/// into it, and `.into()` a string.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// The failure of a tool. `?` converts any error into one.
///
/// By default the model learns only *that* the tool failed, never why: error messages hold paths,
/// addresses and names that a conversation should not have. [`ToolError::tell_model`] sends a
/// message to the model.
///
/// # Retries
/// A failure is final, unless it is [`transient`](Self::transient). Transient failures, panics,
/// timeouts of an attempt and lost workers are retried first, up to the tool's `attempts`: 3
/// attempts in total by default, 1 for a tool with `idempotent = false`. The first pause is 1 s,
/// each next one is twice as long, up to 30 s. A tool that runs in the workflow has one attempt.
pub struct ToolError {
    // Boxed, so that the results of tools stay small.
    failure: Box<ToolFailure>,
    is_transient: bool,
    source: Option<BoxError>,
}

impl ToolError {
    /// Creates a failure whose message the model does not see.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::of(ToolFailure::new(ToolFailureKind::Failed, message))
    }

    /// Creates a failure whose message is the tool output that the model gets.
    pub fn tell_model(message: impl Into<String>) -> Self {
        let message = message.into();
        Self::of(ToolFailure::returned(message.clone(), Some(message)))
    }

    /// Creates a failure that may be temporary: the activity is retried by its retry policy.
    pub fn transient(message: impl Into<String>) -> Self {
        Self { is_transient: true, ..Self::failed(message) }
    }

    /// Creates a failure that ends the run, with
    /// [`RunError::ToolFailed`](crate::engine::RunError::ToolFailed) and this message, for cases in which
    /// no model should continue. The tool's [`OnToolError`](super::OnToolError) is not called, and
    /// nothing is retried.
    pub fn fail_run(message: impl Into<String>) -> Self {
        Self::of(ToolFailure::new(ToolFailureKind::FailsRun, message))
    }

    /// Sets a code by which programs recognise the error, such as `out_of_range`: at most 100
    /// bytes. Rules find it in [`ToolFailure::code`]. With a message of
    /// [`tell_model`](Self::tell_model), the model gets it as well.
    #[must_use]
    pub fn code(mut self, code: impl Into<String>) -> Self {
        self.failure.code = cut_text(&code.into(), MAX_CODE_BYTES);
        self
    }

    /// Adds an argument that does not fit although the schema allows it: the path of the argument,
    /// the violated constraint in the words of JSON Schema (`maximum`, `enum`, `format`), and what
    /// is allowed. Long strings and values are truncated; beyond 100 issues, none is added. With a
    /// message of [`tell_model`](Self::tell_model), the model gets them as well.
    ///
    /// ```
    /// # extern crate temporal_agents_core as temporal_agents;
    /// use temporal_agents::ToolError;
    ///
    /// let error = ToolError::tell_model("there is no seat 41")
    ///     .code("no_such_seat")
    ///     .issue("seat", "maximum", 40)
    ///     .example(serde_json::json!({"seat": 12}));
    /// # let _ = error;
    /// ```
    #[must_use]
    pub fn issue(mut self, field: impl AsRef<str>, constraint: impl AsRef<str>, allowed: impl Into<Value>) -> Self {
        if self.failure.issues.len() < MAX_ISSUES {
            self.failure.issues.push(Issue::of_tool(field.as_ref(), constraint.as_ref(), &allowed.into()));
        }
        self
    }

    /// Sets the arguments that do not fit.
    #[doc(hidden)]
    #[must_use]
    pub fn issues(mut self, issues: Vec<Issue>) -> Self {
        self.failure.issues = issues;
        self
    }

    /// Sets arguments that would fit. An example beyond 2,000 bytes is truncated.
    #[must_use]
    pub fn example(mut self, arguments: impl Into<Value>) -> Self {
        self.failure.example = Some(cut_value(&arguments.into()));
        self
    }

    /// Creates an error that is final.
    #[doc(hidden)]
    pub fn of(failure: ToolFailure) -> Self {
        Self { failure: Box::new(failure), is_transient: false, source: None }
    }

    /// Creates the failure of a call whose arguments are not of the type that the body takes.
    pub(crate) fn of_arguments(tool: &str, refused: NotOfType) -> Self {
        let NotOfType { issue, source, .. } = refused;
        let (tool, kind) = (tool.to_owned(), InvalidArgumentsKind::Violation);
        let invalid = InvalidArguments { tool, kind, issues: vec![issue] };
        Self { source: Some(source.into()), ..Self::of(invalid.into()) }
    }

    /// Creates the failure of an attempt that did not end with a result of the body: another
    /// attempt may.
    #[doc(hidden)]
    pub fn interrupted(failure: ToolFailure) -> Self {
        Self { is_transient: true, ..Self::of(failure) }
    }

    /// Sets the error behind the failure.
    #[doc(hidden)]
    #[must_use]
    pub fn caused_by(self, source: impl Into<BoxError>) -> Self {
        Self { source: Some(source.into()), ..self }
    }

    /// Returns the failure with its messages changed by a function; its source error is dropped.
    #[doc(hidden)]
    #[must_use]
    pub fn with_failure(self, change: impl FnOnce(ToolFailure) -> ToolFailure) -> Self {
        Self { failure: Box::new(change(*self.failure)), source: None, ..self }
    }

    /// Returns the failure, and the error behind it: without one, its message.
    #[doc(hidden)]
    pub fn into_parts(self) -> (ToolFailure, BoxError) {
        let source = self.source.unwrap_or_else(|| self.failure.message.clone().into());
        (*self.failure, source)
    }

    /// Returns the failure.
    #[doc(hidden)]
    pub fn failure(&self) -> &ToolFailure {
        &self.failure
    }

    /// Returns `true` if the failure may be temporary: it is retried first.
    pub fn is_transient(&self) -> bool {
        self.is_transient
    }

    /// Returns the kind of the failure.
    pub fn kind(&self) -> ToolFailureKind {
        self.failure.kind
    }

    /// Returns the failure's message.
    pub fn message(&self) -> &str {
        &self.failure.message
    }

    /// Returns the message, followed by the causes that it does not already contain, for the log.
    #[doc(hidden)]
    pub fn with_causes(&self) -> String {
        let mut text = self.to_string();
        // Of most failures, the message is that of the source error itself.
        let mut cause = self.source.as_deref().map(|error| error as &(dyn Error + 'static));
        while let Some(error) = cause {
            let words = error.to_string();
            if !text.contains(&words) {
                text = format!("{text}: {words}");
            }
            cause = error.source();
        }
        text
    }

    /// Returns the error that was converted into this failure, if there was one.
    pub fn source(&self) -> Option<&(dyn Error + Send + Sync + 'static)> {
        self.source.as_deref()
    }
}

/// The conversion of every error into a [`ToolError`], which `?` uses in a tool's body.
///
/// Not implemented by hand.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an error that a tool can return",
    label = "not an error: write `ToolError::tell_model(..)` for a message that the model reads, \
             `ToolError::failed(..)` for one that it does not"
)]
pub trait IntoToolError {
    /// Converts the error into a failure whose message the model does not see.
    fn into_tool_error(self) -> ToolError;
}

#[diagnostic::do_not_recommend]
impl<E: Error + Send + Sync + 'static> IntoToolError for E {
    fn into_tool_error(self) -> ToolError {
        let message = self.to_string();
        ToolError { source: Some(Box::new(self)), ..ToolError::failed(message) }
    }
}

// No `impl Error for ToolError`: it would collide with the conversion from every error, which `?`
// needs.
impl<E: IntoToolError> From<E> for ToolError {
    fn from(error: E) -> Self {
        error.into_tool_error()
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind() {
            // The message alone does not say what does not fit.
            ToolFailureKind::Arguments => self.failure.fmt(f),
            _ => f.write_str(self.message()),
        }
    }
}

impl fmt::Debug for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolError")
            .field("kind", &self.failure.kind)
            .field("message", &self.failure.message)
            .field("is_transient", &self.is_transient)
            .field("source", &self.source)
            .finish()?;
        f.write_str(if f.alternate() { "\n" } else { ": " })?;
        f.write_str(self.message())
    }
}
