//! Output that a tool sends while it works.

use serde::{Deserialize, Serialize};

/// A part of the output of a tool that has not ended. It may be lost, and the result does not
/// depend on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolOutputDeltaMessage {
    /// Id of the call.
    pub tool_use_id: String,
    /// Name of the stream: `stdout`, `stderr`, `log`, `progress`, or a name of the tool's author.
    pub stream: String,
    /// The string.
    pub delta: String,
}

impl ToolOutputDeltaMessage {
    /// Creates a delta.
    pub fn new(tool_use_id: impl Into<String>, stream: impl Into<String>, delta: impl Into<String>) -> Self {
        Self { tool_use_id: tool_use_id.into(), stream: stream.into(), delta: delta.into() }
    }
}
