//! Builds function tools, and applies the rules that all tools share.

use serde_json::{Value, json};
use temporal_agents::{
    State, ToolDef,
    tool::{Enabled, FromToolContext, NeedsApproval, OnToolError, ToolActivityOptions},
};
use temporal_agents_core::tool::ToolBinding;

use super::{guardrails, text::filled, tool_body};
use crate::conformance::{
    format::{self, FailureFunction, FunctionTool, is_same},
    recorder::Recorder,
};

/// Builds the function tool at index `place` of the agent with this key.
pub(super) fn function_tool(agent: &str, place: usize, spec: &FunctionTool) -> ToolDef {
    let description = spec.description.clone().unwrap_or_default();
    let parameters = spec.parameters.clone().unwrap_or_else(|| json!({}));
    let binding = ToolBinding::Activity { body: tool_body::body(agent, place, spec), options: once() };
    let mut tool = ToolDef::new(&*spec.name, description, parameters, binding)
        .requires(State::<Recorder>::requirement())
        .with_context(tool_body::context_keys(spec));
    if spec.strict == Some(false) {
        tool = tool.not_strict();
    }
    for guardrail in spec.input_guardrails.iter().flatten() {
        tool = tool.with_input_guardrail(guardrails::tool_input(guardrail));
    }
    for guardrail in spec.output_guardrails.iter().flatten() {
        tool = tool.with_output_guardrail(guardrails::tool_output(guardrail));
    }
    with_rules(tool, spec.is_enabled.as_ref(), spec.needs_approval.as_ref(), spec.failure_error_function.as_ref())
}

/// Applies the rules that function tools and agents as tools have in common.
pub(super) fn with_rules(
    tool: ToolDef,
    enabled: Option<&format::Enabled>,
    approval: Option<&format::NeedsApproval>,
    failure: Option<&FailureFunction>,
) -> ToolDef {
    let tool = match enabled.cloned() {
        None | Some(format::Enabled::Always(true)) => tool,
        Some(enabled) => tool.enabled(Enabled::when(move |run, _agent, _turn| enabled.holds(run))),
    };
    let tool = match approval {
        None | Some(format::NeedsApproval::Always(false)) => tool,
        Some(format::NeedsApproval::Always(true)) => tool.approval(NeedsApproval::Always),
        Some(format::NeedsApproval::When { arg, equals }) => tool.approval(when_argument(arg, equals)),
    };
    match on_error(failure) {
        Some(on_error) => tool.with_on_error(on_error),
        None => tool,
    }
}

/// Limits a tool to one attempt: an effect that the script specifies occurs once.
pub(super) fn once() -> ToolActivityOptions {
    ToolActivityOptions::builder().attempts(1).build()
}

fn when_argument(argument: &str, wanted: &Value) -> NeedsApproval {
    let (argument, wanted) = (argument.to_owned(), wanted.clone());
    NeedsApproval::When(std::sync::Arc::new(move |_run, arguments, _call_id| {
        is_same(arguments.get(&argument).unwrap_or(&Value::Null), &wanted)
    }))
}

/// Returns the handler of a failed call; `None` if the scenario specifies the default.
fn on_error(spec: Option<&FailureFunction>) -> Option<OnToolError> {
    Some(match spec?.clone() {
        FailureFunction::Default => return None,
        FailureFunction::ExplicitDefault => OnToolError::fixed_message(),
        FailureFunction::None => OnToolError::FailRun,
        FailureFunction::Returns(text) => OnToolError::tell(move |_call, _failure| text.clone()),
        FailureFunction::Template(template) => {
            OnToolError::tell(move |_call, failure| filled(&template, &[("error", failure.reason())]))
        }
    })
}
