//! The error type of tools.

use std::{error::Error, fmt};

/// The failure of a function that the author wrote: any error, or a string converted with
/// `.into()`.
pub type Failure = Box<dyn Error + Send + Sync>;

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
    kind: ToolErrorKind,
    message: String,
    source: Option<Box<dyn Error + Send + Sync>>,
}

/// The kind of a tool's failure, which decides how it is handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolErrorKind {
    /// The model gets the run's fixed message; the failure's own message stays in history, or in
    /// the log for an inline tool.
    Failed,
    /// The model gets the failure's message.
    TellModel,
    /// The activity is retried first; after the last attempt the failure is handled like `Failed`.
    Transient,
    /// The run ends with the failure, regardless of the tool's [`OnToolError`](super::OnToolError).
    FailRun,
}

impl ToolError {
    /// Creates a failure whose message the model does not see.
    pub fn failed(message: impl Into<String>) -> Self {
        Self { kind: ToolErrorKind::Failed, message: message.into(), source: None }
    }

    /// Creates a failure whose message is the tool output that the model gets.
    pub fn tell_model(message: impl Into<String>) -> Self {
        Self { kind: ToolErrorKind::TellModel, message: message.into(), source: None }
    }

    /// Creates a failure that may be temporary: the activity is retried by its retry policy.
    pub fn transient(message: impl Into<String>) -> Self {
        Self { kind: ToolErrorKind::Transient, message: message.into(), source: None }
    }

    /// Creates a failure that ends the run, with
    /// [`RunError::ToolFailed`](crate::RunError::ToolFailed) and this message, for cases in which
    /// no model should continue. The tool's [`OnToolError`](super::OnToolError) is not called, and
    /// nothing is retried.
    pub fn fail_run(message: impl Into<String>) -> Self {
        Self { kind: ToolErrorKind::FailRun, message: message.into(), source: None }
    }

    /// Returns a failure of the same kind with another message; its source error is dropped.
    #[cfg(feature = "worker")]
    pub(crate) fn with_message(&self, message: String) -> Self {
        Self { kind: self.kind, message, source: None }
    }

    /// Returns the kind of the failure.
    pub fn kind(&self) -> ToolErrorKind {
        self.kind
    }

    /// Returns the failure's message.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the message, followed by the causes that it does not already contain, for the log.
    pub(crate) fn with_causes(&self) -> String {
        let mut text = self.message.clone();
        // The message is that of the source error itself, so its causes start one level below.
        let mut cause = self.source.as_deref().and_then(|error| error.source());
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
    message = "`{Self}` is no error that a tool can fail with",
    label = "no error: write `ToolError::tell_model(..)` for what the model is to read, `ToolError::failed(..)` for what it is not"
)]
pub trait IntoToolError {
    /// Converts the error into a failure whose message the model does not see.
    fn into_tool_error(self) -> ToolError;
}

#[diagnostic::do_not_recommend]
impl<E: Error + Send + Sync + 'static> IntoToolError for E {
    fn into_tool_error(self) -> ToolError {
        ToolError { kind: ToolErrorKind::Failed, message: self.to_string(), source: Some(Box::new(self)) }
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
        f.write_str(&self.message)
    }
}

impl fmt::Debug for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolError")
            .field("kind", &self.kind)
            .field("message", &self.message)
            .field("source", &self.source)
            .finish()?;
        f.write_str(if f.alternate() { "\n" } else { ": " })?;
        f.write_str(&self.message)
    }
}
