//! What a failed call of a tool comes to.

use std::{fmt, sync::Arc};

use super::context::CallInfo;

/// What a model gets for a tool that failed: nothing of the error, which may hold what no conversation should.
pub const TOOL_FAILED: &str = "An error occurred while running the tool. Please try again.";

/// What a failed call of a tool comes to: arguments that do not fit, an error of the body, a timeout.
///
/// # Source
/// `failure_error_function` of the OpenAI Agents SDK.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum OnToolError {
    /// The model gets a fixed text that hides the error, or what the run's error formatter says.
    #[default]
    Standard,
    /// The model gets what this function says; see [`OnToolError::tell`].
    Tell(DescribeFailure),
    /// The run ends.
    FailRun,
}

/// A function that says what the model gets for a failed call.
pub type DescribeFailure = Arc<dyn Fn(&ToolFailure<'_>) -> String + Send + Sync>;

/// A failed call.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ToolFailure<'a> {
    /// The call.
    pub call: &'a CallInfo,
    /// What went wrong, in the tool's own words.
    pub error: &'a str,
}

impl<'a> ToolFailure<'a> {
    /// A call that failed like this.
    pub fn new(call: &'a CallInfo, error: &'a str) -> Self {
        Self { call, error }
    }
}

impl OnToolError {
    /// The model gets what this function says.
    ///
    /// # Determinism
    /// It runs in the workflow, again on replay.
    pub fn tell(describe: impl Fn(&ToolFailure<'_>) -> String + Send + Sync + 'static) -> Self {
        Self::Tell(Arc::new(describe))
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
            Self::FailRun => "FailRun",
        })
    }
}
