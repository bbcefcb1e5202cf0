//! What guardrails have found in a run.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The findings of all guardrails, in the order in which they were asked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GuardrailResults {
    /// Of the input guardrails.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub input: Vec<InputGuardrailResult>,
    /// Of the output guardrails.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub output: Vec<OutputGuardrailResult>,
    /// Of the guardrails before tools.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_input: Vec<ToolGuardrailResult>,
    /// Of the guardrails after tools.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_output: Vec<ToolGuardrailResult>,
}

impl GuardrailResults {
    /// Whether no guardrail was asked yet.
    pub fn is_empty(&self) -> bool {
        self.input.is_empty() && self.output.is_empty() && self.tool_input.is_empty() && self.tool_output.is_empty()
    }
}

/// What an input guardrail found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InputGuardrailResult {
    /// The guardrail's name.
    pub guardrail: String,
    /// Whether it stops the run.
    pub tripwire_triggered: bool,
    /// What it says about it; null when nothing.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub output_info: Value,
}

/// What an output guardrail found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutputGuardrailResult {
    /// The guardrail's name.
    pub guardrail: String,
    /// The agent whose output it was.
    pub agent: String,
    /// The output it looked at.
    pub agent_output: Value,
    /// Whether it stops the run.
    pub tripwire_triggered: bool,
    /// What it says about it; null when nothing.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub output_info: Value,
}

/// What a guardrail of a tool found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolGuardrailResult {
    /// The guardrail's name.
    pub guardrail: String,
    /// What it asks for.
    pub behavior: ToolGuardrailBehavior,
    /// What it says about it; null when nothing.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub output_info: Value,
}

/// What a guardrail of a tool asks for; JSON shape: `{"type": "reject_content", "message": TEXT}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolGuardrailBehavior {
    /// The call goes on.
    Allow,
    /// The model gets this text instead of the output.
    RejectContent {
        /// The text.
        message: String,
    },
    /// The run ends.
    RaiseException,
}
