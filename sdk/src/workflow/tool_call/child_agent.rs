//! An agent used as a tool, in a child workflow: the ready-made `AgentWorkflow`.

use std::rc::Rc;

use serde_json::Value;
use temporalio_workflow::WorkflowCancellationToken;

use super::{
    super::context::DurableContext,
    activity::summary_of,
    foreign::{At, child_id, child_workflow, outcome},
};
use crate::{
    agent::ChildAgentTool,
    drive::{ToolAnswer, ToolEffect, ToolEffectError},
    tool::text_of,
    wire::{AgentReport, AgentRequest, Usage, WIRE_VERSION, WireDecodeError, decode},
};

/// Runs the agent and gives its final output, with what it has used.
pub(super) async fn call(
    ctx: &Rc<dyn DurableContext>,
    agent: &ChildAgentTool,
    effect: ToolEffect<'_>,
    id: &str,
    token: &WorkflowCancellationToken,
) -> Result<ToolAnswer, ToolEffectError> {
    let failed = |error| outcome(error, token, true);
    let id = child_id(ctx, agent.child(), &effect.arguments, id).map_err(failed)?;
    let question = effect.arguments.get("input").and_then(Value::as_str).unwrap_or_default();
    let mut request = AgentRequest::new(agent.agent(), question);
    request.context = effect.context;
    request.report = true;
    let input = serde_json::to_value(request).map_err(|error| ToolEffectError::Host(error.into()))?;
    let at = At { id, summary: summary_of(&effect.info), token: token.clone() };
    let returned = child_workflow(ctx, agent.child(), input, at).await.map_err(failed)?;
    let AgentReport { version: _, output, usage } =
        read(returned).map_err(|error| ToolEffectError::Host(error.into()))?;
    let text = match output {
        Value::Null => String::new(),
        output => text_of(&output).map_err(|error| ToolEffectError::Host(error.to_string().into()))?,
    };
    Ok(ToolAnswer { usage, ..ToolAnswer::new(text.into()) })
}

/// A workflow of a release that knows no reports gives the final output alone.
fn read(returned: Value) -> Result<AgentReport, WireDecodeError> {
    if ["version", "output", "usage"].iter().all(|key| returned.get(key).is_some()) {
        return decode("agent report", returned);
    }
    Ok(AgentReport { version: WIRE_VERSION, output: returned, usage: Usage::default() })
}
