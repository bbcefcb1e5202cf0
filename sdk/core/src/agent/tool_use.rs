//! The rules by which outputs of tools end a run.

use std::{fmt, sync::Arc};

use serde_json::Value;

use crate::{
    tool::RunContext,
    wire::{ToolOutput, run_state::ToolUse},
};

/// The rule by which outputs of an agent's tools end the run.
///
/// For an agent with an output type of its own, an output that ends the run is a value of that type
/// or its JSON, to which a tool converts a value that is not a string. If the run has no type, and
/// for functions that read it, the output is text.
///
/// # Source
/// `tool_use_behavior` of the OpenAI Agents SDK.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum ToolUseBehavior {
    /// The outputs go to the model, and the run continues.
    #[default]
    RunLlmAgain,
    /// The first output, in call order, is the final output; all calls of the turn are made.
    StopOnFirstTool,
    /// The first output of one of these tools is the final output.
    StopAtTools(Vec<String>),
    /// A function decides if the outputs end the run; see [`ToolUseBehavior::decided_by`].
    Custom(DecideToolUse),
}

/// The result of one tool call of a turn.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolResult {
    /// Name of the tool.
    pub tool: String,
    /// The id that the model assigned to the call.
    pub call_id: String,
    /// The output, in the form for the model.
    pub output: ToolOutput,
}

impl ToolResult {
    /// Returns the result of this call.
    pub fn new(tool: impl Into<String>, call_id: impl Into<String>, output: ToolOutput) -> Self {
        Self { tool: tool.into(), call_id: call_id.into(), output }
    }
}

/// A function that returns the final output, or `None` to continue with the model.
pub type DecideToolUse = Arc<dyn Fn(&RunContext, &[ToolResult]) -> Option<Value> + Send + Sync>;

impl ToolUseBehavior {
    /// Returns a rule that ends the run with the output that this function returns for the results
    /// of a turn, if it returns one.
    ///
    /// # Determinism
    /// The function runs in the workflow, again on replay.
    pub fn decided_by(decide: impl Fn(&RunContext, &[ToolResult]) -> Option<Value> + Send + Sync + 'static) -> Self {
        Self::Custom(Arc::new(decide))
    }

    /// Returns the rule in the form in which the state of a run records it.
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
