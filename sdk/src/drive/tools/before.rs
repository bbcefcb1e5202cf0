//! The phase before the body of a call runs; all calls complete it before the first body.
//!
//! # Design
//! **Functions first, then services.** In call order, each call is decided, and checked if all its
//! guardrails are functions. Then the calls with guardrails that are activities or agents are checked
//! at the same time. If a function ends the run, no service is asked.

use std::{cell::LazyCell, ops::Deref};

use futures::FutureExt;
use serde_json::Value;

use super::{
    Call,
    gate::{self, Gated},
    in_tool,
    services::{self, Services, Subject},
    told::told,
};
use crate::{
    agent::{AgentDef, Check, HookedCall},
    drive::{
        env::Env,
        guard,
        host::{Host, LoopEvent},
        join::join_in_order,
        tool_failure,
    },
    engine::{CallResult, Engine, RunError},
    tool::{NeedsApproval, RunContext, ToolBinding, ToolDef, ToolGuardrailContext, ToolInputGuardrail, schema},
    wire::{
        arguments::read_arguments,
        run_state::{Decision, ToolGuardrailBehavior, ToolGuardrailResult},
    },
};

/// Checks all calls, then calls the hooks for the start of those that have no result and do not
/// wait, also if a client has supplied the output of a tool that would otherwise run.
pub(super) async fn begin<H: Host>(
    env: &Env<'_, H>,
    engine: &Engine,
    agent: &AgentDef,
    calls: &mut [Call<'_>],
) -> Result<(), RunError> {
    // Cloned only when first used: most tools need no approval, and the run context may be large.
    let run = LazyCell::new(|| RunContext::new(engine.state().context.clone()));
    let scope = env.host.child(&env.scope);
    let services = Services { env, scope: &scope, agent, key_scope: engine.state().key_scope.as_deref() };
    let mut asking = Vec::new();
    for call in &mut *calls {
        let Some(check) = decide(env, &run, call)? else { continue };
        if of_input(env, check.tool).all(|guardrail| guardrail.check().is_pure()) {
            // A function does not wait.
            check_input(&services, check, call, &run).await?;
        } else {
            asking.push((check, call));
        }
    }
    let run = &run;
    let checks = asking.into_iter().map(|(check, call)| {
        let checking = check_input(&services, check, call, run);
        services.cancel_others_on_error(checking).boxed_local()
    });
    services::first_error(join_in_order(checks.collect()).await)?;
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

/// A check of a call by the input guardrails of its tool.
#[derive(Clone, Copy)]
pub(super) struct InputCheck<'c> {
    tool: &'c ToolDef,
    /// The reason why a call that the guardrails allow does not run now: it waits for approval.
    otherwise: Option<Wait>,
}

/// A wait for approval.
#[derive(Clone, Copy)]
enum Wait {
    /// A decision on the tool suffices.
    ForApproval,
    /// The call needs a decision of its own.
    ForOwnApproval,
}

impl From<Wait> for CallResult {
    fn from(wait: Wait) -> Self {
        match wait {
            Wait::ForApproval => Self::NeedsApproval,
            Wait::ForOwnApproval => Self::NeedsOwnApproval,
        }
    }
}

/// Decides about a call before its body runs: the tool must exist, and a person may have to decide.
/// If the body does not run now, stores the reason in `call.settled`: an output that replaces the
/// body, or a wait for approval. Returns the check by guardrails that follows.
pub(super) fn decide<'c, H: Host>(
    env: &Env<'_, H>,
    run: &impl Deref<Target = RunContext>,
    call: &mut Call<'c>,
) -> Result<Option<InputCheck<'c>>, RunError> {
    let Some(tool) = call.tool else {
        call.settled = Some(CallResult::Output(told(env, tool_failure::not_found(env.config, &call.info)?)));
        return Ok(None);
    };
    if call.paused.is_some() {
        return Ok(None);
    }
    if (call.decision.is_none() || call.is_permanent)
        && let Some(kept) = gate::kept_on(env, tool, call)
    {
        (call.decision, call.is_permanent) = (Some(kept), false);
    }
    let gated = gate::ruling(env, tool, call);
    if let Gated::Denied(message) = gated {
        call.settled = Some(CallResult::Output(told(env, message.into())));
        return Ok(None);
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
            return Ok(None);
        }
        // Also an "always" decision, for calls that would need no approval.
        Some(decision) if !decision.approve => {
            let message = tool_failure::rejected(env.config, &call.info, &decision)?;
            call.settled = Some(CallResult::Output(told(env, message)));
            return Ok(None);
        }
        None if is_asked || needs_approval(env, tool, call, run)? => {
            let wait = if asks_each { Wait::ForOwnApproval } else { Wait::ForApproval };
            if env.config.guard_tools_before_approval {
                return Ok(Some(InputCheck { tool, otherwise: Some(wait) }));
            }
            call.settled = Some(wait.into());
            return Ok(None);
        }
        _ => {}
    }
    Ok(Some(InputCheck { tool, otherwise: None }))
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

/// Returns the input guardrails of a tool: its own, then those of the run.
fn of_input<'r, H: Host>(env: &Env<'r, H>, tool: &'r ToolDef) -> impl Iterator<Item = &'r ToolInputGuardrail> {
    tool.input_guardrails().iter().chain(&env.config.tool_input_guardrails)
}

/// Runs the guardrails before a tool, and stores the result in `call.settled`: the output that
/// replaces the tool's own if one rejects the call, otherwise the wait of the call, if it waits.
///
/// # Errors
/// [`RunError::ToolInputGuardrailTripped`].
pub(super) async fn check_input<H: Host>(
    services: &Services<'_, '_, H>,
    check: InputCheck<'_>,
    call: &mut Call<'_>,
    run: &impl Deref<Target = RunContext>,
) -> Result<(), RunError> {
    let InputCheck { tool, otherwise } = check;
    // A call that is checked before its approval is checked again after it, and after each answer.
    let time = if otherwise.is_some() { 0 } else { call.answers.len() + 1 };
    for (place, guardrail) in of_input(services.env, tool).enumerate() {
        let function = format!("input guardrail {:?} of tool {:?}", guardrail.name(), call.info.tool);
        let subject = Subject { info: &call.info, arguments: &call.arguments, output: None };
        let name = format!("input-guardrail-{}-{}-{place}-{time}", call.info.turn, call.index);
        let found = match guardrail.check() {
            Check::Pure(check) => {
                let ctx = ToolGuardrailContext::new(&call.info, &call.arguments, run);
                guard::call(|| function, &call.info.agent, || check(&ctx))?
            }
            Check::Activity(tool) => services.activity(tool, function, name, &subject, run).await?,
            Check::Agent { agent, judge } => services.agent(agent, judge, function, name, &subject, run).await?,
        };
        let result = ToolGuardrailResult {
            guardrail: guardrail.name().to_owned(),
            behavior: found.behavior.clone(),
            output_info: found.output_info,
        };
        call.input_guardrails.push(result.clone());
        match found.behavior {
            ToolGuardrailBehavior::Allow => {}
            ToolGuardrailBehavior::RejectContent { message } => {
                call.settled = Some(CallResult::Output(told(services.env, message.into())));
                return Ok(());
            }
            ToolGuardrailBehavior::RaiseException => {
                let (agent, tool) = (call.info.agent.clone(), call.info.tool.clone());
                return Err(RunError::ToolInputGuardrailTripped { agent, tool, result: Box::new(result) });
            }
        }
    }
    call.settled = otherwise.map(CallResult::from);
    Ok(())
}
