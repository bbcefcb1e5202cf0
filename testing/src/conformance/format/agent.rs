//! An agent of a scenario, and those of its tools that are not functions.

use serde::Deserialize;
use serde_json::Value;
use temporal_agents::wire::ModelSettings;

use super::{Enabled, FailureFunction, FunctionTool, Handoff, InputGuardrail, OutputGuardrail};

/// An agent.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_field_names, reason = "the members of the scenario format")]
pub(crate) struct Agent {
    pub(crate) name: String,
    pub(crate) handoff_description: Option<String>,
    pub(crate) instructions: Option<Instructions>,
    pub(crate) model_settings: Option<ModelSettings>,
    pub(crate) tools: Option<Vec<FunctionTool>>,
    pub(crate) agent_tools: Option<Vec<AgentTool>>,
    pub(crate) hosted_tools: Option<Vec<HostedTool>>,
    pub(crate) handoffs: Option<Vec<Handoff>>,
    pub(crate) output_schema: Option<OutputSchema>,
    pub(crate) tool_use_behavior: Option<ToolUse>,
    pub(crate) reset_tool_choice: Option<bool>,
    pub(crate) input_guardrails: Option<Vec<InputGuardrail>>,
    pub(crate) output_guardrails: Option<Vec<OutputGuardrail>>,
}

/// The instructions of an agent.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Instructions {
    Text(String),
    Computed { template: String },
}

/// The shape of a final answer.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OutputSchema {
    pub(crate) name: String,
    pub(crate) strict: Option<bool>,
    pub(crate) schema: Value,
}

/// The rule by which the outputs of tools end the run.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToolUse {
    RunLlmAgain,
    StopOnFirstTool,
    #[serde(rename = "stop_at_tool_names")]
    StopAt(Vec<String>),
    Custom {
        final_when_tool: String,
        final_output: String,
    },
}

/// Another agent as a tool.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AgentTool {
    pub(crate) agent: String,
    pub(crate) tool_name: Option<String>,
    pub(crate) tool_description: Option<String>,
    pub(crate) is_enabled: Option<Enabled>,
    pub(crate) max_turns: Option<u32>,
    pub(crate) needs_approval: Option<bool>,
    pub(crate) failure_error_function: Option<FailureFunction>,
    pub(crate) output_extractor: Option<OutputExtractor>,
}

/// The template of the output of an agent that is a tool.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OutputExtractor {
    pub(crate) template: String,
}

/// A tool that the provider runs.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum HostedTool {
    WebSearch {},
    FileSearch {},
    CodeInterpreter {},
    ImageGeneration {},
    Mcp { server_label: String, require_approval: Option<String>, on_approval_request: Option<ApprovalAnswer> },
}

/// A callback that answers approval requests immediately.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ApprovalAnswer {
    pub(crate) approve: bool,
    pub(crate) reason: Option<String>,
}
