//! What a tool fails with.

use std::{error::Error, fmt};

/// A failure of a function of the author: any error, or a text by `.into()`.
pub type Failure = Box<dyn Error + Send + Sync>;

/// The failure of a tool. Any error becomes one by `?`.
///
/// By default the model learns only *that* the tool failed, never why: error texts hold paths, addresses and names that
/// a conversation should not have. [`ToolError::tell_model`] says something to the model.
///
/// # Retries
/// A failure is final, unless it is [`transient`](Self::transient). Those, and panics, timeouts of an attempt and lost workers are tried again
/// first, as often as the tool's `attempts` say: 3 times in all by default, once for a tool with `idempotent = false`. The first pause is 1 s, each
/// next one twice as long, up to 30 s. A tool that runs in the workflow has one attempt.
pub struct ToolError {
    kind: ToolErrorKind,
    message: String,
    source: Option<Box<dyn Error + Send + Sync>>,
}

/// What happens with a tool's failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolErrorKind {
    /// The model gets the fixed text of the run; the message stays in history, or in the log for an inline tool.
    Failed,
    /// The model gets the message.
    TellModel,
    /// The activity is tried again first; then as `Failed`.
    Transient,
    /// The run ends with it, whatever the tool's rule for errors says.
    FailRun,
}

impl ToolError {
    /// A failure whose message the model does not see.
    pub fn failed(message: impl Into<String>) -> Self {
        Self { kind: ToolErrorKind::Failed, message: message.into(), source: None }
    }

    /// A failure whose message is the model's tool output.
    pub fn tell_model(message: impl Into<String>) -> Self {
        Self { kind: ToolErrorKind::TellModel, message: message.into(), source: None }
    }

    /// A failure that may pass: the activity is tried again after its retry policy.
    pub fn transient(message: impl Into<String>) -> Self {
        Self { kind: ToolErrorKind::Transient, message: message.into(), source: None }
    }

    /// A failure that ends the run, with [`RunError::ToolFailed`](crate::RunError::ToolFailed) and this message: where no model should go on. The
    /// tool's [`OnToolError`](super::OnToolError) is not asked, and nothing is tried again.
    pub fn fail_run(message: impl Into<String>) -> Self {
        Self { kind: ToolErrorKind::FailRun, message: message.into(), source: None }
    }

    /// The same failure in other words; what it came from is dropped.
    #[cfg(feature = "worker")]
    pub(crate) fn with_message(&self, message: String) -> Self {
        Self { kind: self.kind, message, source: None }
    }

    /// What happens with it.
    pub fn kind(&self) -> ToolErrorKind {
        self.kind
    }

    /// What went wrong.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The message, followed by the causes that it does not repeat: what a log is to have.
    pub(crate) fn with_causes(&self) -> String {
        let mut text = self.message.clone();
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

    /// The error it came from, if it came from one.
    pub fn source(&self) -> Option<&(dyn Error + Send + Sync + 'static)> {
        self.source.as_deref()
    }
}

/// What `?` makes a [`ToolError`] of in a tool's body: every error.
///
/// Nobody implements it by hand.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no error that a tool can fail with",
    label = "no error: write `ToolError::tell_model(..)` for what the model is to read, `ToolError::failed(..)` for what it is not"
)]
pub trait IntoToolError {
    /// The failure, whose message the model does not see.
    fn into_tool_error(self) -> ToolError;
}

#[diagnostic::do_not_recommend]
impl<E: Error + Send + Sync + 'static> IntoToolError for E {
    fn into_tool_error(self) -> ToolError {
        ToolError { kind: ToolErrorKind::Failed, message: self.to_string(), source: Some(Box::new(self)) }
    }
}

// No `impl Error for ToolError`: it would collide with the conversion from every error, which `?` needs.
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
