//! Results of the guardrails of a run.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Results of all guardrails, in the order in which they were called.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct GuardrailResults {
    /// Results of the input guardrails.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub input: Vec<InputGuardrailResult>,
    /// Results of the output guardrails.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub output: Vec<OutputGuardrailResult>,
    /// Results of the guardrails before tools.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_input: Vec<ToolGuardrailResult>,
    /// Results of the guardrails after tools.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_output: Vec<ToolGuardrailResult>,
}

impl GuardrailResults {
    /// Returns `true` if there is no result yet.
    pub fn is_empty(&self) -> bool {
        self.input.is_empty() && self.output.is_empty() && self.tool_input.is_empty() && self.tool_output.is_empty()
    }
}

/// The result of an input guardrail.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct InputGuardrailResult {
    /// Name of the guardrail.
    pub guardrail: String,
    /// `true` if the guardrail stops the run.
    pub tripwire_triggered: bool,
    /// Additional information from the guardrail; null if there is none.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub output_info: Value,
}

/// The result of an output guardrail.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct OutputGuardrailResult {
    /// Name of the guardrail.
    pub guardrail: String,
    /// Name of the agent whose output was checked.
    pub agent: String,
    /// The output that was checked.
    pub agent_output: Value,
    /// `true` if the guardrail stops the run.
    pub tripwire_triggered: bool,
    /// Additional information from the guardrail; null if there is none.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub output_info: Value,
}

/// The result of a tool guardrail.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolGuardrailResult {
    /// Name of the guardrail.
    pub guardrail: String,
    /// The behavior that the guardrail requests.
    pub behavior: ToolGuardrailBehavior,
    /// Additional information from the guardrail; null if there is none.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub output_info: Value,
}

/// The behavior that a tool guardrail requests; JSON shape:
/// `{"type": "reject_content", "message": TEXT}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolGuardrailBehavior {
    /// The call continues.
    Allow,
    /// The model gets this message instead of the output.
    RejectContent {
        /// The message for the model.
        message: String,
    },
    /// The run ends.
    RaiseException,
}
