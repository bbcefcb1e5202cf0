//! The phase before the body of a call runs; all calls complete it before the first body.

use std::{cell::LazyCell, ops::Deref};

use serde_json::Value;

use super::{
    Call,
    gate::{self, Gated},
    in_tool,
    told::told,
};
use crate::{
    agent::{AgentDef, HookedCall},
    drive::{
        env::Env,
        guard,
        host::{Host, LoopEvent},
        tool_failure,
    },
    engine::{CallResult, Engine, RunError},
    tool::{NeedsApproval, RunContext, ToolBinding, ToolDef, ToolGuardrailContext, schema},
    wire::{
        arguments::read_arguments,
        run_state::{Decision, ToolGuardrailBehavior, ToolGuardrailResult},
    },
};

/// Checks all calls, then calls the hooks for the start of those that have no result and do not
/// wait, also if a client has supplied the output of a tool that would otherwise run.
pub(super) fn begin<H: Host>(
    env: &Env<'_, H>,
    engine: &Engine,
    agent: &AgentDef,
    calls: &mut [Call<'_>],
) -> Result<(), RunError> {
    // Cloned only when first used: most tools need no approval, and the run context may be large.
    let run = LazyCell::new(|| RunContext::new(engine.state().context.clone()));
    for call in &mut *calls {
        decide(env, &run, call)?;
    }
    for call in calls.iter().filter(|call| begins(call)) {
        env.tell(engine, &agent.name, "on_tool_start", |hooks, ctx| {
            hooks.on_tool_start(ctx, &agent.name, &HookedCall::new(&call.info, &call.arguments))
        })
        .map_err(|error| in_tool(&call.info, error))?;
    }
    Ok(())
}

/// Returns `true` if the hooks are called now for the start of a call. Hooks were called earlier
/// for an agent used as a tool whose run has paused, for a client tool when its output was
/// requested, and for a call whose MCP server has requested a value from people.
fn begins(call: &Call<'_>) -> bool {
    let was_asked_for =
        || call.supplied.is_some() && call.tool.is_some_and(|tool| matches!(tool.binding(), ToolBinding::Client));
    call.settled.is_none() && call.paused.is_none() && call.answers.is_empty() && !was_asked_for()
}

/// Checks a call before its body runs: the tool must exist, a person may have to decide, and its
/// guardrails must allow it. If the body does not run now, stores the reason in `call.settled`: an
/// output that replaces the body, or a wait for approval.
pub(super) fn decide<H: Host>(
    env: &Env<'_, H>,
    run: &impl Deref<Target = RunContext>,
    call: &mut Call<'_>,
) -> Result<(), RunError> {
    let Some(tool) = call.tool else {
        call.settled = Some(CallResult::Output(told(env, tool_failure::not_found(env.config, &call.info)?)));
        return Ok(());
    };
    if call.paused.is_some() {
        return Ok(());
    }
    if (call.decision.is_none() || call.is_permanent)
        && let Some(kept) = gate::kept_on(env, tool, call)
    {
        (call.decision, call.is_permanent) = (Some(kept), false);
    }
    let gated = gate::ruling(env, tool, call);
    if let Gated::Denied(message) = gated {
        call.settled = Some(CallResult::Output(told(env, message.into())));
        return Ok(());
    }
    call.keep = gate::to_keep(env, tool, call);
    let has_checks = has_safety_checks(tool, call);
    if has_checks && call.is_permanent && call.decision.as_ref().is_some_and(|decision| decision.approve) {
        call.decision = None;
    }
    let (is_asked, asks_each) = match gated {
        Gated::Asked { asks_each } => (true, asks_each || has_checks),
        Gated::Open | Gated::Denied(_) => (has_checks, has_checks),
    };
    match call.decision.take() {
        // The message is the output that a client has supplied.
        Some(Decision { supplied: true, message, .. }) => {
            call.supplied = Some(message.unwrap_or_default().into());
            return Ok(());
        }
        // Also an "always" decision, for calls that would need no approval.
        Some(decision) if !decision.approve => {
            let message = tool_failure::rejected(env.config, &call.info, &decision)?;
            call.settled = Some(CallResult::Output(told(env, message)));
            return Ok(());
        }
        None if is_asked || needs_approval(env, tool, call, run)? => {
            if env.config.guard_tools_before_approval {
                call.settled = check_input(env, tool, call, run)?;
            }
            let waits = if asks_each { CallResult::NeedsOwnApproval } else { CallResult::NeedsApproval };
            call.settled.get_or_insert(waits);
            return Ok(());
        }
        _ => {}
    }
    call.settled = check_input(env, tool, call, run)?;
    Ok(())
}

/// Returns `true` if the call has safety checks, which a person must see for each call.
pub(super) fn has_safety_checks(tool: &ToolDef, call: &Call<'_>) -> bool {
    tool.native_kind().is_some_and(|kind| kind.has_safety_checks(&call.arguments))
}

fn needs_approval<H: Host>(
    env: &Env<'_, H>,
    tool: &ToolDef,
    call: &Call<'_>,
    run: &impl Deref<Target = RunContext>,
) -> Result<bool, RunError> {
    // The condition cannot be evaluated for arguments that are not a JSON object: the call waits.
    // Otherwise it sees the arguments as the body does, also those that do not fit.
    let arguments = || {
        let arguments = read_arguments(&call.arguments).ok()?;
        match schema::with_integers(tool.accepts(), Value::Object(arguments)) {
            Value::Object(arguments) => Some(arguments),
            _ => None,
        }
    };
    match tool.approval_rule() {
        NeedsApproval::Never => Ok(false),
        NeedsApproval::Always => Ok(true),
        NeedsApproval::When(predicate) => {
            let Some(arguments) = arguments() else { return Ok(true) };
            let function = || format!("the approval rule of tool {:?}", call.info.tool);
            // A panic ends the run.
            guard::call(function, &call.info.agent, || predicate(run, &arguments, &call.info.call_id))
        }
        // A panic is logged, and the call waits.
        NeedsApproval::WhenArguments(rule) => {
            let Some(arguments) = arguments() else { return Ok(true) };
            Ok(guard::guarded(|| rule.asks(run, &arguments)).unwrap_or_else(|panic| {
                let reason = &*panic.to_string();
                env.host.observe(&LoopEvent::ApprovalRuleFailed { call: &call.info, reason });
                true
            }))
        }
    }
}

/// Runs the guardrails before a tool. If one rejects the call, returns the output that replaces the
/// tool's own.
///
/// # Errors
/// [`RunError::ToolInputGuardrailTripped`].
fn check_input<H: Host>(
    env: &Env<'_, H>,
    tool: &ToolDef,
    call: &mut Call<'_>,
    run: &impl Deref<Target = RunContext>,
) -> Result<Option<CallResult>, RunError> {
    for guardrail in tool.input_guardrails().iter().chain(&env.config.tool_input_guardrails) {
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
            ToolGuardrailBehavior::RejectContent { message } => {
                return Ok(Some(CallResult::Output(told(env, message.into()))));
            }
            ToolGuardrailBehavior::RaiseException => {
                let (agent, tool) = (call.info.agent.clone(), call.info.tool.clone());
                return Err(RunError::ToolInputGuardrailTripped { agent, tool, result: Box::new(result) });
            }
        }
    }
    Ok(None)
}
