//! Agents used as tools, in child workflows: the ready-made `AgentWorkflow`.
//!
//! # Design
//! The child returns an `AgentReport`: the output, and the usage, which is added to the caller's; a
//! run that fails leaves its usage in the workflow's failure. The child receives the tool's turn
//! limit, if it is set, the keys of the run context that the tool names, and the gate of the
//! caller, and returns no context. An output extractor runs in the caller, so the report then
//! includes the items.

use std::rc::Rc;

use serde_json::Value;
use temporal_agents_core::{
    agent::{AgentToolResult, ChildAgentTool},
    drive::{ToolAnswer, ToolEffect, ToolEffectError, guard::guarded},
    tool::{BoxError, ToolFailure, ToolFailureKind, WorkflowToolError, text_of},
    wire::{AgentReport, AgentRequest, Usage, WireDecodeError, decode},
};
use temporalio_workflow::WorkflowCancellationToken;

use super::{
    activity::summary_of,
    foreign::{At, child_id, child_with_report, of_run, outcome},
};
use crate::workflow::context::DurableContext;

/// Runs the agent and returns its final output, with its usage.
pub(super) async fn call(
    ctx: &Rc<dyn DurableContext>,
    agent: &ChildAgentTool,
    effect: ToolEffect<'_>,
    id: &str,
    token: &WorkflowCancellationToken,
) -> Result<ToolAnswer, ToolEffectError> {
    let by = of_run(ctx, effect.meta, id);
    let id = child_id(ctx, agent.child(), &effect.arguments, id).map_err(|error| outcome(error, token, true))?;
    let question = effect.arguments.get("input").and_then(Value::as_str).unwrap_or_default();
    let mut request = AgentRequest::new(agent.agent(), question);
    request.context = effect.context;
    request.report = true;
    request.report_items = agent.tool().extractor().is_some();
    request.max_turns = agent.tool().given_turn_limit();
    request.gates = effect.gates;
    (request.untrusted, request.user) = (effect.untrusted, effect.user);
    request.trace = effect.trace.map(|trace| Box::new(trace.for_child())).filter(|trace| !trace.is_empty());
    let input = serde_json::to_value(request).map_err(|error| ToolEffectError::Host(error.into()))?;
    let at = At { id, summary: summary_of(&effect.info), token: token.clone(), by };
    let returned =
        child_with_report(ctx, agent.child(), input, at).await.map_err(|(error, left)| failed(error, left, token))?;
    let report = read(returned).map_err(|error| ToolEffectError::Host(error.into()))?;
    let text = output(agent, &effect.info.tool, &report)?;
    Ok(ToolAnswer { usage: report.usage, ..ToolAnswer::new(text.into()) })
}

/// Converts the error of a run without a result. The usage of the run until then counts.
fn failed(error: WorkflowToolError, left: Option<AgentReport>, token: &WorkflowCancellationToken) -> ToolEffectError {
    match error {
        WorkflowToolError::Failed { ref message, .. } => {
            let (message, usage) = (message.clone(), left.map(|report| report.usage).unwrap_or_default());
            of_agent(message, usage, error)
        }
        error => outcome(error, token, true),
    }
}

fn of_agent(message: String, usage: Usage, source: impl Into<BoxError>) -> ToolEffectError {
    let failure = Box::new(ToolFailure::new(ToolFailureKind::Agent, message));
    ToolEffectError::Failed { failure, usage, source: source.into() }
}

/// Returns the output for the caller: the result of the extractor if there is one, otherwise the
/// final output.
fn output(agent: &ChildAgentTool, tool: &str, report: &AgentReport) -> Result<String, ToolEffectError> {
    let AgentReport { version: _, output, usage, new_items, last_agent } = report;
    if let Some(extract) = agent.tool().extractor() {
        let result = AgentToolResult::new(output, new_items, last_agent);
        return guarded(|| extract(&result)).map_err(|panic| {
            of_agent(format!("the output extractor of tool {tool:?}: {panic}"), usage.clone(), panic)
        });
    }
    match output {
        Value::Null => Ok(String::new()),
        output => text_of(output).map_err(|error| ToolEffectError::Host(error.to_string().into())),
    }
}

/// Reads the result of the child. A workflow of a release without reports returns only the final
/// output.
fn read(returned: Value) -> Result<AgentReport, WireDecodeError> {
    if ["version", "output", "usage"].iter().all(|key| returned.get(key).is_some()) {
        return decode("agent report", returned);
    }
    Ok(AgentReport::new(returned, Usage::default()))
}
