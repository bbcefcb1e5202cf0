//! Whether the outputs of tools end a run.

use std::{fmt, sync::Arc};

use serde_json::Value;

use crate::{
    tool::RunContext,
    wire::{ToolOutput, run_state::ToolUse},
};

/// What happens with the outputs of an agent's tools.
///
/// For an agent with an output type of its own, an output that ends the run is a value of that type
/// or its JSON, which is what a tool makes of a value that is no text. Where the run has no type,
/// and for functions that look at it, it is text.
///
/// # Source
/// `tool_use_behavior` of the OpenAI Agents SDK.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum ToolUseBehavior {
    /// The model sees them and goes on.
    #[default]
    RunLlmAgain,
    /// The first output, in call order, is the final output; all calls of the turn are made.
    StopOnFirstTool,
    /// The first output of one of these tools is the final output.
    StopAtTools(Vec<String>),
    /// A function says whether they end the run; see [`ToolUseBehavior::decided_by`].
    Custom(DecideToolUse),
}

/// What a tool of a turn has returned.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolResult {
    /// The tool.
    pub tool: String,
    /// The model's id of the call.
    pub call_id: String,
    /// The output, as the model would see it.
    pub output: ToolOutput,
}

impl ToolResult {
    /// The result of this call.
    pub fn new(tool: impl Into<String>, call_id: impl Into<String>, output: ToolOutput) -> Self {
        Self { tool: tool.into(), call_id: call_id.into(), output }
    }
}

/// A function that gives the final output, or none to let the model go on.
pub type DecideToolUse = Arc<dyn Fn(&RunContext, &[ToolResult]) -> Option<Value> + Send + Sync>;

impl ToolUseBehavior {
    /// Ends the run with the output that this function gives for the results of a turn, if it gives
    /// one.
    ///
    /// # Determinism
    /// The function runs in the workflow, again on replay.
    pub fn decided_by(decide: impl Fn(&RunContext, &[ToolResult]) -> Option<Value> + Send + Sync + 'static) -> Self {
        Self::Custom(Arc::new(decide))
    }

    /// The behaviour as the state of a run holds it.
    pub fn in_state(&self) -> ToolUse {
        match self {
            Self::RunLlmAgain => ToolUse::RunLlmAgain,
            Self::StopOnFirstTool => ToolUse::StopOnFirstTool,
            Self::StopAtTools(tools) => ToolUse::StopAtTools { tools: tools.clone() },
            Self::Custom(_) => ToolUse::Custom,
        }
    }
}

impl fmt::Debug for ToolUseBehavior {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.in_state().fmt(f)
    }
}
