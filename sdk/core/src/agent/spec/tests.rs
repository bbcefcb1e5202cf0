//! Specs, read and resolved: every problem is reported, and nothing is weakened.

mod reading;
mod resolving;

use serde_json::{Value, json};

use super::{SpecError, SpecParts, Surroundings, read};
use crate::{
    agent::{AgentDef, GuardrailOutput, InputGuardrail, OutputGuardrail},
    tool::{HostedTool, Tool, ToolDef, ToolGuardrailOutput, ToolInputGuardrail, ToolOutputGuardrail},
    wire::{ToolOutput, agent_spec::LoadedSpec},
};

/// A tool that does nothing.
fn tool(name: &str) -> ToolDef {
    let schema = json!({"type": "object", "properties": {"order": {"type": "integer"}}, "required": ["order"]});
    ToolDef::client(name, "Does nothing.", schema)
}

/// Two tools, one of which asks for approvals and checks its output, and a part of each other kind.
fn parts() -> SpecParts {
    let allow = ToolInputGuardrail::new("small_amounts", |_| ToolGuardrailOutput::allow());
    let own = ToolOutputGuardrail::new("no_names", |_, _: &ToolOutput| ToolGuardrailOutput::allow());
    let refund = tool("refund").needs_approval_when(|_, _, _| false);
    SpecParts::new()
        .tools([tool("find_order"), refund.with_output_guardrail(own.clone())])
        .hosted_tool(HostedTool::web_search().search_context_size("low"))
        .input_guardrail(InputGuardrail::new("no_homework", |_, _| Ok(GuardrailOutput::pass())))
        .output_guardrail(OutputGuardrail::new("polite", |_, _| Ok(GuardrailOutput::pass())))
        .tool_input_guardrail(allow)
        .tool_output_guardrail(own)
}

fn loaded(specs: &[Value]) -> Vec<LoadedSpec> {
    let spec = |json: &Value| read(json["name"].as_str().unwrap(), json).unwrap();
    specs.iter().map(|json| LoadedSpec { version: 1, spec: spec(json) }).collect()
}

fn resolved(parts: &SpecParts, specs: &[Value]) -> Result<AgentDef, SpecError> {
    parts.resolve(&loaded(specs), &Surroundings { has_model: true, ..Surroundings::default() })
}

/// The lines of an error, without the first.
fn lines(error: &SpecError) -> Vec<String> {
    error.to_string().lines().skip(1).map(|line| line.trim_start_matches("- ").to_owned()).collect()
}

/// The messages of a spec that cannot be read.
fn problems(json: &Value) -> Vec<String> {
    read("desk", json).unwrap_err().iter().map(ToString::to_string).collect()
}
