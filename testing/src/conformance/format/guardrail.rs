//! Guardrails of runs and of single tools.

use serde::Deserialize;
use serde_json::Value;

/// An input guardrail of a run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct InputGuardrail {
    pub(crate) name: String,
    pub(crate) trips_if_input_contains: Option<String>,
    pub(crate) output_info: Option<Value>,
    pub(crate) run_in_parallel: Option<bool>,
    pub(crate) raises: Option<String>,
}

/// A guardrail of the final output.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OutputGuardrail {
    pub(crate) name: String,
    pub(crate) trips_if_output_contains: Option<String>,
    pub(crate) output_info: Option<Value>,
    pub(crate) raises: Option<String>,
}

/// A guardrail of a single tool, of its arguments or of its output.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToolGuardrail {
    pub(crate) name: String,
    pub(crate) when_contains: Option<String>,
    pub(crate) behavior: Option<ToolGuardrailBehavior>,
    pub(crate) output_info: Option<Value>,
}

/// The verdict of a tool guardrail.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToolGuardrailBehavior {
    Allow,
    RejectContent(String),
    RaiseException,
}
