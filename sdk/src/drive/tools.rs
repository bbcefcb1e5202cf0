//! The tool calls of one response: what is decided before a body runs, the bodies, what is decided after.
//!
//! All three in call order. Bodies run together: inline ones at once, activities and agents through the host. When one ends
//! the run, the others are cancelled and their outcome is awaited.

use std::cell::{Cell, RefCell};

use futures::{FutureExt, future::LocalBoxFuture};
use serde_json::{Map, Value};

use super::{
    env::Env,
    guard,
    host::{Host, RunEvent, ToolAnswer, ToolEffect},
    input_guardrails::InputGuards,
    join::join_capped,
    nested::{AgentCall, AgentInput, call_agent},
    tool_failure::{self, WentWrong},
};
use crate::{
    agent::AgentDef,
    engine::{CallResult, DueCall, Engine, Resolution, RunError, ToolOutcome},
    tool::{
        CallInfo, NeedsApproval, RunContext, StateMap, ToolBinding, ToolContext, ToolDef, ToolGuardrailContext,
        schema::{self, InvalidArguments},
    },
    wire::{
        RunState, ToolOutput, Usage,
        run_state::{Decision, GuardrailResults, PlannedCall, ToolGuardrailBehavior, ToolGuardrailResult},
    },
};

/// What the body of a call gave.
pub(super) struct Body {
    pub(super) result: CallResult,
    pub(super) context_patch: Option<Value>,
}

impl Body {
    pub(super) fn output(output: ToolOutput) -> Self {
        Self { result: CallResult::Output(output), context_patch: None }
    }

    pub(super) fn paused(run: RunState) -> Self {
        Self { result: CallResult::Paused(Box::new(run)), context_patch: None }
    }
}

/// A call on its way.
struct Call<'c> {
    info: CallInfo,
    index: usize,
    tool: Option<&'c ToolDef>,
    arguments: String,
    decision: Option<Decision>,
    paused: Option<Box<RunState>>,
    input_guardrails: Vec<ToolGuardrailResult>,
    /// What came of it before its body, if nothing more is to be done.
    settled: Option<CallResult>,
}

/// Makes the calls.
///
/// # Errors
/// [`RunError`]: the first, in call order, of those that end the run. The engine then has what was complete.
pub(super) async fn run<'g, H: Host>(
    env: &'g Env<'_, H>,
    engine: &mut Engine,
    guards: &mut InputGuards<'g>,
    agent: &str,
    turn: u32,
    due: Vec<DueCall>,
) -> Result<Resolution, RunError> {
    let agent = env.agent(agent);
    let names: Vec<&str> = due.iter().map(|call| &*call.call.tool).collect();
    env.host.observe(&RunEvent::ToolsCalled { agent: &agent.name, turn, tools: &names });
    let mut calls: Vec<Call<'_>> = due.into_iter().map(|call| Call::new(agent, turn, call)).collect();
    if let Err(error) = begin(env, engine, agent, &mut calls) {
        let mut found = GuardrailResults::default();
        found.tool_input = calls.into_iter().flat_map(|call| call.input_guardrails).collect();
        engine.resolve(Resolution::ToolsFailed { outcomes: Vec::new(), found })?;
        return Err(error);
    }
    let ran = bodies(env, engine, guards, &mut calls).await?;
    let (outcomes, ended) = conclude(env, engine, agent, calls, ran);
    match ended {
        None => Ok(Resolution::ToolsRan(outcomes)),
        Some((error, found)) => {
            engine.resolve(Resolution::ToolsFailed { outcomes, found })?;
            Err(error)
        }
    }
}

/// Decides about all calls, then tells the hooks of those that run.
fn begin<H: Host>(env: &Env<'_, H>, engine: &Engine, agent: &AgentDef, calls: &mut [Call<'_>]) -> Result<(), RunError> {
    for call in &mut *calls {
        decide(env, engine, call)?;
    }
    for call in calls.iter().filter(|call| call.settled.is_none() && call.paused.is_none()) {
        env.tell(engine, &agent.name, "on_tool_start", |hooks, ctx| {
            hooks.on_tool_start(ctx, &agent.name, &call.info.tool)
        })
        .map_err(|error| in_tool(&call.info, error))?;
    }
    Ok(())
}

impl<'c> Call<'c> {
    fn new(agent: &'c AgentDef, turn: u32, due: DueCall) -> Self {
        let DueCall { index, call, is_known, decision, paused } = due;
        let PlannedCall { tool: name, variant, call_id, arguments } = call;
        let info = CallInfo::new(name, call_id, &*agent.name, turn);
        let mut named = agent.tools.iter().filter(|tool| tool.name() == info.tool);
        let tool = if is_known { named.clone().nth(variant).or_else(|| named.next_back()) } else { None };
        Self { info, index, tool, arguments, decision, paused, input_guardrails: Vec::new(), settled: None }
    }
}

/// What is decided before a body runs: whether there is a tool, whether a person has to decide, what its guardrails say.
fn decide<H: Host>(env: &Env<'_, H>, engine: &Engine, call: &mut Call<'_>) -> Result<(), RunError> {
    let Some(tool) = call.tool else {
        call.settled = Some(CallResult::Output(tool_failure::not_found(env.config, &call.info)?));
        return Ok(());
    };
    if call.paused.is_some() {
        return Ok(());
    }
    let run = RunContext::new(engine.state().context.clone());
    match call.decision.take() {
        Some(decision) if !decision.approve => {
            call.settled = Some(CallResult::Output(tool_failure::rejected(env.config, &call.info, &decision)?));
            return Ok(());
        }
        None if needs_approval(tool, call, &run)? => {
            if env.config.guard_tools_before_approval {
                call.settled = check_input(tool, call, &run)?;
            }
            call.settled.get_or_insert(CallResult::NeedsApproval);
            return Ok(());
        }
        _ => {}
    }
    call.settled = check_input(tool, call, &run)?;
    Ok(())
}

fn needs_approval(tool: &ToolDef, call: &Call<'_>, run: &RunContext) -> Result<bool, RunError> {
    let predicate = match tool.approval_rule() {
        NeedsApproval::Never => return Ok(false),
        NeedsApproval::Always => return Ok(true),
        NeedsApproval::When(predicate) => predicate,
    };
    // Arguments that nobody can read are for a person to look at.
    let Ok(Value::Object(arguments)) = serde_json::from_str(&call.arguments) else { return Ok(true) };
    let function = || format!("the approval rule of tool {:?}", call.info.tool);
    guard::call(function, &call.info.agent, || predicate(run, &arguments, &call.info.call_id))
}

/// Asks the guardrails before a tool; gives the output that takes the place of its own, if one rejects the call.
///
/// # Errors
/// [`RunError::ToolInputGuardrailTripped`].
fn check_input(tool: &ToolDef, call: &mut Call<'_>, run: &RunContext) -> Result<Option<CallResult>, RunError> {
    for guardrail in tool.input_guardrails() {
        let function = || format!("input guardrail {:?} of tool {:?}", guardrail.name(), call.info.tool);
        let ctx = ToolGuardrailContext::new(&call.info, &call.arguments, run);
        let found = guard::call(function, &call.info.agent, || guardrail.check(&ctx))?;
        let result = ToolGuardrailResult {
            guardrail: guardrail.name().to_owned(),
            behavior: found.behavior.clone(),
            output_info: found.output_info,
        };
        call.input_guardrails.push(result.clone());
        match found.behavior {
            ToolGuardrailBehavior::Allow => {}
            ToolGuardrailBehavior::RejectContent { message } => return Ok(Some(CallResult::Output(message.into()))),
            ToolGuardrailBehavior::RaiseException => {
                let (agent, tool) = (call.info.agent.clone(), call.info.tool.clone());
                return Err(RunError::ToolInputGuardrailTripped { agent, tool, result });
            }
        }
    }
    Ok(None)
}

/// Runs the bodies; gives what came of each, in call order, nothing for calls that were settled before.
async fn bodies<'g, H: Host>(
    env: &'g Env<'_, H>,
    engine: &mut Engine,
    guards: &mut InputGuards<'g>,
    calls: &mut [Call<'_>],
) -> Result<Vec<Option<Result<Body, RunError>>>, RunError> {
    let scope = env.host.child(&env.scope);
    let context = RefCell::new(std::mem::take(engine.context_mut()));
    let usage = RefCell::new(Usage::default());
    let failed = Cell::new(false);
    let mut running: Vec<LocalBoxFuture<'_, Option<Result<Body, RunError>>>> = Vec::with_capacity(calls.len());
    for call in calls.iter_mut() {
        let (Some(tool), None) = (call.tool, &call.settled) else {
            running.push(std::future::ready(None).boxed_local());
            continue;
        };
        let (scope, context, usage, failed) = (&scope, &context, &usage, &failed);
        let paused = call.paused.take();
        let call = &*call;
        let is_capped = env.config.max_tool_concurrency.is_some();
        let body = async move {
            if is_capped && failed.get() {
                let (agent, turn) = (call.info.agent.clone(), call.info.turn);
                return Some(Err(RunError::Cancelled { agent, turn }));
            }
            let body = body(env, scope, tool, call, paused, context, usage).await;
            if body.is_err() {
                failed.set(true);
            }
            Some(body)
        };
        running.push(body.boxed_local());
    }
    let cap = env.config.max_tool_concurrency.unwrap_or(usize::MAX);
    // When one ends the run, what the others would still do is of no use to anybody. They have all begun by then.
    let mut has_cancelled = false;
    let cancel_others = || {
        let cancels = failed.get() && !has_cancelled;
        if cancels {
            has_cancelled = true;
            env.host.cancel(&scope);
        }
        cancels
    };
    let ran = guards.beside(env, engine, &scope, join_capped(running, cap, cancel_others)).await;
    *engine.context_mut() = context.into_inner();
    engine.count(&usage.into_inner());
    ran
}

/// Runs one body. A failure that the model is told is an output.
async fn body<H: Host>(
    env: &Env<'_, H>,
    scope: &H::Scope,
    tool: &ToolDef,
    call: &Call<'_>,
    paused: Option<Box<RunState>>,
    context: &RefCell<Map<String, Value>>,
    usage: &RefCell<Usage>,
) -> Result<Body, RunError> {
    let info = &call.info;
    let refused = |wrong: WentWrong, reason: &str| {
        env.host.observe(&RunEvent::CallRefused { call: info, reason });
        tool_failure::settle(env.config, tool, info, wrong).map(Body::output)
    };
    let id = env.effect(format_args!("{}-tool-{}", info.turn, call.index));
    let arguments = match (&paused, schema::parse_arguments(tool.name(), &call.arguments, tool.accepts())) {
        (Some(_), _) => Map::new(),
        (None, Ok(arguments)) => arguments,
        (None, Err(invalid)) => {
            let reason = explained(&invalid);
            return refused(WentWrong::Arguments(invalid), &reason);
        }
    };
    match tool.binding() {
        ToolBinding::Inline(inline) => {
            let run = RunContext::new(context.take());
            let mut ctx = ToolContext::new(info.clone(), run, StateMap::default());
            let function = || format!("inline tool {:?}", tool.name());
            let returned = guard::call(function, &info.agent, || inline(&mut ctx, arguments));
            context.replace(ctx.into_run().into_values());
            returned?.map(Body::output).or_else(|error| refused(WentWrong::inline(&error), error.message()))
        }
        ToolBinding::Activity { options, .. } => {
            let context = named_keys(&context.borrow(), tool.context_keys());
            let effect = ToolEffect { tool, options, info: info.clone(), id, arguments, context };
            match env.host.call_tool(effect, scope).await {
                Ok(ToolAnswer { output, context_patch }) => Ok(Body { context_patch, ..Body::output(output) }),
                Err(error) => {
                    let wrong = tool_failure::of_effect(info, error)?;
                    tool_failure::settle(env.config, tool, info, wrong).map(Body::output)
                }
            }
        }
        ToolBinding::Agent(agent) => {
            let input = match paused {
                Some(state) => AgentInput::Paused(state),
                None => AgentInput::Text(arguments.get("input").and_then(Value::as_str).unwrap_or_default().to_owned()),
            };
            let now = context.borrow().clone();
            let called = call_agent(env, scope, agent, info, id.to_string(), input, now).await;
            let AgentCall { body, usage: used } = called;
            usage.borrow_mut().add(&used);
            match body {
                Err(RunError::Cancelled { agent, turn }) => Err(RunError::Cancelled { agent, turn }),
                Err(error) => {
                    let reason = error.to_string();
                    refused(WentWrong::Agent(error), &reason)
                }
                body => body,
            }
        }
    }
}

/// What is decided after the bodies: what the guardrails say, and who ends the run.
fn conclude<H: Host>(
    env: &Env<'_, H>,
    engine: &Engine,
    agent: &AgentDef,
    calls: Vec<Call<'_>>,
    ran: Vec<Option<Result<Body, RunError>>>,
) -> (Vec<ToolOutcome>, Option<(RunError, GuardrailResults)>) {
    let run = RunContext::new(engine.state().context.clone());
    let mut outcomes = Vec::with_capacity(calls.len());
    let mut failure = None;
    let mut cancelled = None;
    // What guardrails found about calls without an outcome.
    let mut found = GuardrailResults::default();
    for (call, ran) in calls.into_iter().zip(ran) {
        let Call { info, index, tool, arguments, decision: _, paused: _, input_guardrails, settled } = call;
        let mut outcome = match (settled, ran) {
            (Some(result), _) => ToolOutcome { input_guardrails, ..ToolOutcome::new(index, result) },
            (None, Some(Ok(Body { result, context_patch }))) => {
                ToolOutcome { context_patch, ran: true, input_guardrails, ..ToolOutcome::new(index, result) }
            }
            (None, Some(Err(error))) => {
                found.tool_input.extend(input_guardrails);
                match error {
                    RunError::Cancelled { .. } => cancelled = cancelled.or(Some(error)),
                    error => failure = failure.or(Some(error)),
                }
                continue;
            }
            (None, None) => unreachable!("every call is settled before its body, or has one"),
        };
        if let (true, Some(tool), CallResult::Output(_)) = (outcome.ran, tool, &outcome.result) {
            let checked = check_output(tool, &info, &arguments, &run, &mut outcome)
                .and_then(|()| tool_ended(env, engine, agent, &info, &outcome).map_err(|error| in_tool(&info, error)));
            if let Err(error) = checked {
                failure = failure.or(Some(error));
                found.tool_input.append(&mut outcome.input_guardrails);
                found.tool_output.append(&mut outcome.output_guardrails);
                continue;
            }
        }
        outcomes.push(outcome);
    }
    let ended = failure.or(cancelled).map(|error| (error, found));
    // In a turn that fails only what ran counts: nobody is asked any more.
    if ended.is_some() {
        outcomes.retain(|outcome| outcome.ran);
    }
    (outcomes, ended)
}

/// Asks the guardrails after a tool; a rejected output is replaced.
///
/// # Errors
/// [`RunError::ToolOutputGuardrailTripped`].
fn check_output(
    tool: &ToolDef,
    info: &CallInfo,
    arguments: &str,
    run: &RunContext,
    outcome: &mut ToolOutcome,
) -> Result<(), RunError> {
    let CallResult::Output(output) = &mut outcome.result else { return Ok(()) };
    for guardrail in tool.output_guardrails() {
        let function = || format!("output guardrail {:?} of tool {:?}", guardrail.name(), info.tool);
        let ctx = ToolGuardrailContext::new(info, arguments, run);
        let found = guard::call(function, &info.agent, || guardrail.check(&ctx, output))?;
        let result = ToolGuardrailResult {
            guardrail: guardrail.name().to_owned(),
            behavior: found.behavior.clone(),
            output_info: found.output_info,
        };
        outcome.output_guardrails.push(result.clone());
        match found.behavior {
            ToolGuardrailBehavior::Allow => {}
            ToolGuardrailBehavior::RejectContent { message } => {
                *output = message.into();
                return Ok(());
            }
            ToolGuardrailBehavior::RaiseException => {
                let (agent, tool) = (info.agent.clone(), info.tool.clone());
                return Err(RunError::ToolOutputGuardrailTripped { agent, tool, result });
            }
        }
    }
    Ok(())
}

fn tool_ended<H: Host>(
    env: &Env<'_, H>,
    engine: &Engine,
    agent: &AgentDef,
    info: &CallInfo,
    outcome: &ToolOutcome,
) -> Result<(), RunError> {
    let CallResult::Output(output) = &outcome.result else { return Ok(()) };
    env.tell(engine, &agent.name, "on_tool_end", |hooks, ctx| hooks.on_tool_end(ctx, &agent.name, &info.tool, output))
}

/// A failure of a hook around a tool is the tool's.
fn in_tool(info: &CallInfo, error: RunError) -> RunError {
    match error {
        RunError::Function { source, .. } => {
            RunError::ToolFailed { agent: info.agent.clone(), turn: info.turn, tool: info.tool.clone(), source }
        }
        other => other,
    }
}

fn named_keys(context: &Map<String, Value>, keys: &[String]) -> Map<String, Value> {
    keys.iter().filter_map(|key| Some((key.clone(), context.get(key)?.clone()))).collect()
}

/// What is wrong with arguments, field by field, without the arguments themselves.
fn explained(invalid: &InvalidArguments) -> String {
    let issues: Vec<String> = invalid.issues.iter().map(ToString::to_string).collect();
    if issues.is_empty() { invalid.to_string() } else { format!("{invalid}: {}", issues.join("; ")) }
}
