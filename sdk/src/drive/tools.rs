//! The tool calls of one response: inline bodies at once, the others all together through the host.

use futures::{FutureExt, future::LocalBoxFuture};
use serde_json::{Map, Value};

use super::{
    guard,
    host::{Host, RunEvent, ToolAnswer, ToolEffect, ToolEffectError},
    join::join_in_order,
};
use crate::{
    agent::AgentDef,
    engine::{Engine, RunError, ToolOutcome},
    tool::{
        CallInfo, RunContext, StateMap, ToolBinding, ToolContext, ToolDef, ToolError, ToolErrorKind,
        schema::{self, InvalidArguments},
    },
    wire::{ToolOutput, run_state::PlannedCall},
};

/// What a model gets for a tool that failed: nothing of the error, which may hold what no conversation should.
const FAILED: &str = "An error occurred while running the tool. Please try again.";

/// What a model gets for a tool that must not run twice and whose only attempt broke off: no invitation to try again.
const OUTCOME_UNKNOWN: &str =
    "The tool call was interrupted. It is not known whether it took effect. Do not repeat it.";

/// Runs the calls and gives their outcomes in call order.
///
/// # Errors
/// The first, in call order, of those that end the run.
pub(super) async fn run<H: Host>(
    host: &H,
    engine: &mut Engine,
    agent: &AgentDef,
    turn: u32,
    calls: Vec<PlannedCall>,
) -> Result<Vec<ToolOutcome>, RunError> {
    let turn_scope = host.scope();
    let names: Vec<&str> = calls.iter().map(|call| &*call.tool).collect();
    host.observe(&RunEvent::ToolsCalled { agent: &agent.name, turn, tools: &names });
    let mut running: Vec<LocalBoxFuture<'_, Result<ToolOutcome, RunError>>> = Vec::with_capacity(calls.len());
    for (index, call) in calls.into_iter().enumerate() {
        let tool = tool_named(agent, &call.tool);
        let info = CallInfo::new(&*call.tool, &*call.call_id, &*agent.name, turn);
        let arguments = match schema::parse_arguments(tool.name(), &call.arguments, tool.accepts()) {
            Ok(arguments) => arguments,
            Err(invalid) => {
                host.observe(&RunEvent::CallRefused { call: &info, reason: &explained(&invalid) });
                running.push(ready(outcome(&info, FAILED.into())));
                continue;
            }
        };
        match tool.binding() {
            ToolBinding::Inline(body) => {
                let mut context = inline_context(engine, info.clone());
                let function = || format!("inline tool {:?}", tool.name());
                let returned = guard::call(function, &agent.name, || body(&mut context, arguments));
                *engine.context_mut() = context.into_run().into_values();
                // Futures are lazy: nothing of this turn is scheduled yet when a body panics.
                let output = returned?.unwrap_or_else(|error| {
                    host.observe(&RunEvent::CallRefused { call: &info, reason: error.message() });
                    told_to_model(&error)
                });
                running.push(ready(outcome(&info, output)));
            }
            ToolBinding::Activity { options, .. } => {
                let context = named_keys(&engine.state().context, tool.context_keys());
                let effect = ToolEffect { tool, options, info: info.clone(), index, arguments, context };
                let scope = &turn_scope;
                let call = async move {
                    let settled = settle(&info, host.call_tool(effect, scope).await);
                    if settled.is_err() {
                        // The run is lost: what the others would still do is of no use to anybody.
                        host.cancel(scope);
                    }
                    settled
                };
                running.push(call.boxed_local());
            }
        }
    }
    first_failure_or_all(join_in_order(running).await)
}

/// The outcomes, or the first failure in call order; those that were only cancelled because of another count last.
fn first_failure_or_all(settled: Vec<Result<ToolOutcome, RunError>>) -> Result<Vec<ToolOutcome>, RunError> {
    let mut outcomes = Vec::with_capacity(settled.len());
    let mut cancelled = None;
    for result in settled {
        match result {
            Ok(outcome) => outcomes.push(outcome),
            Err(error @ RunError::Cancelled { .. }) => cancelled = cancelled.or(Some(error)),
            Err(error) => return Err(error),
        }
    }
    cancelled.map_or(Ok(outcomes), Err)
}

fn ready<'a>(outcome: ToolOutcome) -> LocalBoxFuture<'a, Result<ToolOutcome, RunError>> {
    std::future::ready(Ok(outcome)).boxed_local()
}

fn inline_context(engine: &mut Engine, info: CallInfo) -> ToolContext {
    let run = RunContext::new(std::mem::take(engine.context_mut()));
    ToolContext::new(info, run, StateMap::default())
}

fn named_keys(context: &Map<String, Value>, keys: &[String]) -> Map<String, Value> {
    keys.iter().filter_map(|key| Some((key.clone(), context.get(key)?.clone()))).collect()
}

fn outcome(info: &CallInfo, output: ToolOutput) -> ToolOutcome {
    ToolOutcome { call_id: info.call_id.clone(), output, context_patch: None }
}

/// What is wrong with arguments, field by field, without the arguments themselves.
fn explained(invalid: &InvalidArguments) -> String {
    let issues: Vec<String> = invalid.issues.iter().map(ToString::to_string).collect();
    if issues.is_empty() { invalid.to_string() } else { format!("{invalid}: {}", issues.join("; ")) }
}

/// What the model gets for a failure of an inline tool.
fn told_to_model(error: &ToolError) -> ToolOutput {
    match error.kind() {
        ToolErrorKind::TellModel => error.message().into(),
        ToolErrorKind::Failed | ToolErrorKind::Transient => FAILED.into(),
    }
}

/// What a call through the host comes to: an outcome for the model, or the end of the run.
fn settle(info: &CallInfo, result: Result<ToolAnswer, ToolEffectError>) -> Result<ToolOutcome, RunError> {
    let (tool, agent, turn) = (info.tool.clone(), info.agent.clone(), info.turn);
    match result {
        Ok(ToolAnswer { output, context_patch }) => {
            Ok(ToolOutcome { call_id: info.call_id.clone(), output, context_patch })
        }
        Err(ToolEffectError::Failed { tell_model, .. }) => {
            Ok(outcome(info, tell_model.as_deref().unwrap_or(FAILED).into()))
        }
        Err(ToolEffectError::TimedOut { after, .. }) => {
            Ok(outcome(info, format!("Tool '{tool}' timed out after {} seconds.", after.as_secs_f64()).into()))
        }
        Err(ToolEffectError::OutcomeUnknown { .. }) => Ok(outcome(info, OUTCOME_UNKNOWN.into())),
        Err(ToolEffectError::NotRegistered { task_queue, source }) => {
            Err(RunError::ToolNotRegistered { tool, agent, task_queue, source })
        }
        Err(ToolEffectError::Cancelled) => Err(RunError::Cancelled { agent, turn }),
        Err(ToolEffectError::Host(source)) => Err(RunError::Tool { tool, agent, turn, source }),
    }
}

fn tool_named<'a>(agent: &'a AgentDef, name: &str) -> &'a ToolDef {
    agent
        .tools
        .iter()
        .rfind(|tool| tool.name() == name)
        .expect("the engine plans calls only of tools that were offered, and an agent does not change in a run")
}
