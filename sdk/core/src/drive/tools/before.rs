//! The phase before the body of a call runs; all calls complete it before the first body.
//!
//! # Design
//! **Calls without services first.** In call order, each call is decided, and checked if all its
//! guardrails are functions. Then the calls with guardrails that are activities or agents are checked
//! at the same time. If one of the first ends the run, no service is asked.

use std::{cell::LazyCell, ops::Deref};

use futures::FutureExt;
use serde_json::Value;

use super::{
    Call,
    call_guardrails::{self, CallGuardrails, GuardrailName, Subject},
    gate::{self, Gated},
    in_tool,
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

/// Decides about all calls, and checks those whose guardrails are functions. Returns the checks that
/// are left, each with the place of its call.
pub(super) async fn decide_all<'c, H: Host>(
    guardrails: &CallGuardrails<'_, '_, H>,
    engine: &Engine,
    calls: &mut [Call<'c>],
) -> Result<Vec<(usize, InputCheck<'c>)>, RunError> {
    // Cloned only when first used: most tools need no approval, and the run context may be large.
    let run = LazyCell::new(|| RunContext::new(engine.state().context.clone()));
    let mut left = Vec::new();
    for (place, call) in calls.iter_mut().enumerate() {
        let Some(check) = decide(guardrails.env, &run, call)? else { continue };
        if input_guardrails(guardrails.env, check.tool).all(|guardrail| guardrail.check().is_pure()) {
            // Only functions: completes without waiting.
            check_input(guardrails, check, call, &run).await?;
        } else {
            left.push((place, check));
        }
    }
    Ok(left)
}

/// Makes the checks that [`decide_all`] has left, all at the same time.
///
/// # Errors
/// The first error in call order.
pub(super) async fn ask_services<H: Host>(
    guardrails: &CallGuardrails<'_, '_, H>,
    run: &RunContext,
    calls: &mut [Call<'_>],
    left: Vec<(usize, InputCheck<'_>)>,
) -> Result<(), RunError> {
    let mut left = left.into_iter().peekable();
    let mut checks = Vec::new();
    for (place, call) in calls.iter_mut().enumerate() {
        if let Some((_, check)) = left.next_if(|(due, _)| *due == place) {
            let checking = check_input(guardrails, check, call, &run);
            checks.push(guardrails.cancel_others_on_error(checking).boxed_local());
        }
    }
    call_guardrails::first_error(join_in_order(checks).await)
}

/// Calls the hooks for the start of the calls that have no result and do not wait, also if a client
/// has supplied the output of a tool that would otherwise run.
pub(super) fn tell_start<H: Host>(
    env: &Env<'_, H>,
    engine: &Engine,
    agent: &AgentDef,
    calls: &[Call<'_>],
) -> Result<(), RunError> {
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
    wait: Option<Wait>,
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
                return Ok(Some(InputCheck { tool, wait: Some(wait) }));
            }
            call.settled = Some(wait.into());
            return Ok(None);
        }
        _ => {}
    }
    Ok(Some(InputCheck { tool, wait: None }))
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

/// Returns the input guardrails of a tool: its own, then the guardrails of the run.
fn input_guardrails<'r, H: Host>(env: &Env<'r, H>, tool: &'r ToolDef) -> impl Iterator<Item = &'r ToolInputGuardrail> {
    tool.input_guardrails().iter().chain(&env.config.tool_input_guardrails)
}

/// Runs the guardrails before a tool, and stores the result in `call.settled`: the output that
/// replaces the tool's own if one rejects the call, otherwise the wait of the call, if it waits.
///
/// # Errors
/// [`RunError::ToolInputGuardrailTripped`]; [`RunError::Function`] or another error of a guardrail that
/// fails; [`RunError::Cancelled`].
pub(super) async fn check_input<H: Host>(
    guardrails: &CallGuardrails<'_, '_, H>,
    check: InputCheck<'_>,
    call: &mut Call<'_>,
    run: &impl Deref<Target = RunContext>,
) -> Result<(), RunError> {
    let InputCheck { tool, wait } = check;
    // A call that is checked before its approval is checked again after it, and after each answer.
    let time = if wait.is_some() { 0 } else { call.answers.len() + 1 };
    for (place, guardrail) in input_guardrails(guardrails.env, tool).enumerate() {
        let name = GuardrailName {
            function: format!("input guardrail {:?} of tool {:?}", guardrail.name(), call.info.tool),
            effect: format!("input-guardrail-{}-{}-{place}-{time}", call.info.turn, call.index),
        };
        let subject = Subject { info: &call.info, index: call.index, arguments: &call.arguments, output: None };
        let found = match guardrail.check() {
            Check::Pure(check) => {
                let ctx = ToolGuardrailContext::new(&call.info, &call.arguments, run);
                guard::call(|| name.function, &call.info.agent, || check(&ctx))?
            }
            Check::Activity(tool) => guardrails.activity(tool, name, &subject, run).await?,
            Check::Agent { agent, judge } => guardrails.agent(agent, judge, name, &subject, run).await?,
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
                call.settled = Some(CallResult::Output(told(guardrails.env, message.into())));
                return Ok(());
            }
            ToolGuardrailBehavior::RaiseException => {
                let (agent, tool) = (call.info.agent.clone(), call.info.tool.clone());
                return Err(RunError::ToolInputGuardrailTripped { agent, tool, result: Box::new(result) });
            }
        }
    }
    call.settled = wait.map(CallResult::from);
    Ok(())
}
