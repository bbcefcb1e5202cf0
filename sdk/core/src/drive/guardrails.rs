//! Runs the guardrails of a run: pure functions at once, activities and agents through the host.
//!
//! # Design
//! **A guardrail only reads the run context.** A pure function receives it by reference; a
//! guardrail in an activity that sets a key fails the run, because the change would otherwise be
//! lost.

use futures::{FutureExt, future::LocalBoxFuture};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{
    env::Env,
    guard,
    host::{Host, ToolAnswer, ToolEffect, ToolEffectError},
    join::join_in_order,
    nested,
};
use crate::{
    agent::{
        AgentDef, Check, GuardrailContext, GuardrailInput, GuardrailOutput, InputGuardrail, Judge, OutputGuardrail,
        parse_guardrail_output,
    },
    engine::{Engine, Resolution, RunError},
    tool::{BoxError, CallInfo, RunContext, ToolBinding, ToolDef, ToolFailureKind, named_keys},
    wire::{
        Item, RunState,
        digest::Digest,
        run_state::{FinalOutput, InputGuardrailResult, OutputGuardrailResult},
        tool_call_meta::ToolCallMeta,
    },
};

pub(super) type Finding<'f, O = GuardrailOutput> = LocalBoxFuture<'f, Result<O, RunError>>;

/// A guardrail that was started.
pub(super) enum Asked<'f> {
    /// The guardrail has returned a result.
    Answered(Result<GuardrailOutput, RunError>),
    /// The result of the guardrail is pending.
    Asking(Finding<'f>),
}

/// A guardrail and its index among all of its kind, which is a part of the ids of its effects.
pub(super) type Indexed<'g, G> = (usize, &'g G);

/// Returns the input guardrails of a run: the start agent's own, then the guardrails of the agent on which
/// `find` was called, then the run's.
pub(super) fn of_input<'r, H: Host>(
    env: &Env<'r, H>,
    agent: &'r AgentDef,
) -> impl Iterator<Item = Indexed<'r, InputGuardrail>> {
    let agent_guardrails = agent.input_guardrails.iter().chain(&agent.found_guardrails);
    agent_guardrails.chain(&env.config.input_guardrails).enumerate()
}

/// Runs the input guardrails that block the first turn. When a pure one trips, no other effect is
/// scheduled.
///
/// # Errors
/// [`RunError`] of the first guardrail, in declaration order, that fails before another trips.
pub(super) async fn blocking_input<H: Host>(
    env: &Env<'_, H>,
    engine: &Engine,
    agent: &str,
) -> Result<Resolution, RunError> {
    let agent = env.agent(agent)?;
    let (beside, blocking): (Vec<_>, Vec<_>) =
        of_input(env, agent).partition(|(_, guardrail)| guardrail.runs_in_parallel());
    let more = !beside.is_empty();
    let run = RunContext::new(engine.state().context.clone());
    let scope = env.host.child(&env.scope);
    let asked = ask_input(env, &scope, agent, &blocking, engine.state(), &run);
    let answers = answers(env, &scope, asked).await;
    let results = named(&blocking, answers, input_result)?;
    Ok(Resolution::InputChecked { results, more })
}

/// Starts input guardrails in declaration order; stops at a pure one that trips or fails. The
/// futures of activities and agents are polled together later.
pub(super) fn ask_input<'f, H: Host>(
    env: &'f Env<'_, H>,
    scope: &'f H::Scope,
    agent: &'f AgentDef,
    guardrails: &[Indexed<'f, InputGuardrail>],
    state: &RunState,
    run: &RunContext,
) -> Vec<Asked<'f>> {
    let ctx = GuardrailContext::new(&agent.name, run);
    let input = &*state.input;
    ask(guardrails, |(place, guardrail)| match guardrail.check() {
        Check::Pure(check) => {
            let function = format!("input guardrail {:?}", guardrail.name());
            Asked::Answered(pure(&function, &agent.name, || check(&ctx, &GuardrailInput(input))))
        }
        Check::Activity(tool) => {
            let arguments = InputGuardrail::activity_arguments(&agent.name, input);
            // Input guardrails belong to the first turn, also before that turn has begun.
            let function = format!("input guardrail {:?}", guardrail.name());
            let call = Call { function, arguments, run, turn: 1, key_scope: state.key_scope.as_deref() };
            Asked::Asking(activity(env, scope, agent, tool, format!("input-guardrail-{place}"), call))
        }
        Check::Agent { agent: judge, judge: verdict } => {
            let name = format!("input-guardrail-{place}");
            let output = nested::judge(env, scope, judge, name, input.to_vec(), run.values().clone());
            let function = format!("input guardrail {:?}", guardrail.name());
            Asked::Asking(await_judge(function, agent, verdict, output))
        }
    })
}

/// Calls the hooks for the end of the agent, and runs the output guardrails: the agent's own, then
/// the run's.
///
/// # Errors
/// [`RunError`] of a hook, or of the first guardrail that fails before another trips.
pub(super) async fn conclude<H: Host>(
    env: &Env<'_, H>,
    engine: &Engine,
    agent: &str,
    output: &FinalOutput,
) -> Result<Resolution, RunError> {
    env.tell(engine, agent, "on_agent_end", |hooks, ctx| hooks.on_agent_end(ctx, agent, &output.value))?;
    let agent = env.agent(agent)?;
    let guardrails: Vec<Indexed<'_, OutputGuardrail>> =
        agent.output_guardrails.iter().chain(&env.config.output_guardrails).enumerate().collect();
    let run = RunContext::new(engine.state().context.clone());
    let scope = env.host.child(&env.scope);
    let ctx = GuardrailContext::new(&agent.name, &run);
    let asked = ask(&guardrails, |(place, guardrail)| match guardrail.check() {
        Check::Pure(check) => {
            let function = format!("output guardrail {:?}", guardrail.name());
            Asked::Answered(pure(&function, &agent.name, || check(&ctx, &output.value)))
        }
        Check::Activity(tool) => {
            let arguments = OutputGuardrail::activity_arguments(&agent.name, &output.value);
            let (turn, key_scope) = (engine.state().turn, engine.state().key_scope.as_deref());
            let function = format!("output guardrail {:?}", guardrail.name());
            let call = Call { function, arguments, run: &run, turn, key_scope };
            Asked::Asking(activity(env, &scope, agent, tool, format!("output-guardrail-{place}"), call))
        }
        Check::Agent { agent: judge, judge: verdict } => {
            let text = output.value.as_str().map_or_else(|| output.value.to_string(), str::to_owned);
            let (name, input) = (format!("output-guardrail-{place}"), vec![Item::user(text)]);
            let output = nested::judge(env, &scope, judge, name, input, run.values().clone());
            let function = format!("output guardrail {:?}", guardrail.name());
            Asked::Asking(await_judge(function, agent, verdict, output))
        }
    });
    let answers = answers(env, &scope, asked).await;
    let results = named(&guardrails, answers, |(_, guardrail), found| OutputGuardrailResult {
        guardrail: guardrail.name().to_owned(),
        agent: agent.name.clone(),
        agent_output: output.value.clone(),
        tripwire_triggered: found.tripwire_triggered,
        output_info: found.output_info,
    })?;
    Ok(Resolution::OutputChecked(results))
}

/// Starts guardrails one after another, and stops after the first immediate result that ends the
/// run.
fn ask<'f, G: Copy>(guardrails: &[G], mut ask: impl FnMut(G) -> Asked<'f>) -> Vec<Asked<'f>> {
    let mut all = Vec::with_capacity(guardrails.len());
    for guardrail in guardrails {
        let asked = ask(*guardrail);
        let ends_the_run = matches!(&asked, Asked::Answered(answer) if ends_the_run(answer));
        all.push(asked);
        if ends_the_run {
            break;
        }
    }
    all
}

pub(super) fn ends_the_run(answer: &Result<GuardrailOutput, RunError>) -> bool {
    !matches!(answer, Ok(found) if !found.tripwire_triggered)
}

/// Returns the results in declaration order. When an immediate result ends the run, the pending
/// guardrails are never polled, and their result is `None`.
async fn answers<H: Host>(
    env: &Env<'_, H>,
    scope: &H::Scope,
    asked: Vec<Asked<'_>>,
) -> Vec<Option<Result<GuardrailOutput, RunError>>> {
    let is_decided = asked.iter().any(|asked| matches!(asked, Asked::Answered(answer) if ends_the_run(answer)));
    let mut waiting: Vec<LocalBoxFuture<'_, Option<Result<GuardrailOutput, RunError>>>> = Vec::new();
    for asked in asked {
        waiting.push(match asked {
            Asked::Answered(answer) => std::future::ready(Some(answer)).boxed_local(),
            Asked::Asking(_) if is_decided => std::future::ready(None).boxed_local(),
            Asked::Asking(finding) => async move {
                let answer = finding.await;
                if ends_the_run(&answer) {
                    env.host.cancel(scope);
                }
                Some(answer)
            }
            .boxed_local(),
        });
    }
    join_in_order(waiting).await
}

/// Pairs guardrails with their results, up to the first one that trips.
///
/// # Errors
/// The first error before a guardrail that trips. Errors of guardrails that were only cancelled
/// because of another one have the lowest priority.
pub(super) fn named<G: Copy, R>(
    guardrails: &[G],
    answers: impl IntoIterator<Item = Option<Result<GuardrailOutput, RunError>>>,
    result: impl Fn(G, GuardrailOutput) -> R,
) -> Result<Vec<R>, RunError> {
    let mut results = Vec::new();
    let mut cancelled = None;
    for (guardrail, answer) in guardrails.iter().zip(answers) {
        match answer {
            None => {}
            Some(Ok(found)) => {
                let tripped = found.tripwire_triggered;
                results.push(result(*guardrail, found));
                if tripped {
                    return Ok(results);
                }
            }
            Some(Err(error @ RunError::Cancelled { .. })) => cancelled = cancelled.or(Some(error)),
            Some(Err(error)) => return Err(error),
        }
    }
    cancelled.map_or(Ok(results), Err)
}

pub(super) fn input_result(
    (_, guardrail): Indexed<'_, InputGuardrail>,
    found: GuardrailOutput,
) -> InputGuardrailResult {
    InputGuardrailResult {
        guardrail: guardrail.name().to_owned(),
        tripwire_triggered: found.tripwire_triggered,
        output_info: found.output_info,
    }
}

fn pure(
    function: &str,
    agent: &str,
    check: impl FnOnce() -> Result<GuardrailOutput, BoxError>,
) -> Result<GuardrailOutput, RunError> {
    guard::call(|| function.to_owned(), agent, check)?.map_err(|source| RunError::Function {
        function: function.to_owned(),
        agent: agent.to_owned(),
        source,
    })
}

/// Awaits the output of a guardrail agent and converts it to a guardrail result.
pub(super) fn await_judge<'f, O: 'f>(
    function: String,
    agent: &'f AgentDef,
    verdict: &'f Judge<O>,
    output: LocalBoxFuture<'f, Result<Value, RunError>>,
) -> Finding<'f, O> {
    async move {
        let output = output.await?;
        guard::call(|| function, &agent.name, || verdict(&output))
    }
    .boxed_local()
}

/// The input of a guardrail that runs as an activity.
pub(super) struct Call<'c> {
    /// Name of the guardrail in error messages.
    pub(super) function: String,
    pub(super) arguments: Map<String, Value>,
    pub(super) run: &'c RunContext,
    pub(super) turn: u32,
    /// Scope of the run's idempotency keys, if a tool call has already set it.
    pub(super) key_scope: Option<&'c str>,
}

/// Runs a guardrail as an activity, whose id in the run is `name`.
pub(super) fn activity<'f, H: Host, O: DeserializeOwned + 'f>(
    env: &'f Env<'_, H>,
    scope: &'f H::Scope,
    agent: &'f AgentDef,
    tool: &'f ToolDef,
    name: String,
    call: Call<'_>,
) -> Finding<'f, O> {
    let Call { function, arguments, run, turn, key_scope } = call;
    let failed =
        move |source: BoxError| RunError::Function { function: function.clone(), agent: agent.name.clone(), source };
    if !matches!(tool.binding(), ToolBinding::Activity { .. }) {
        let error = failed("the guardrail uses a tool that does not run as an activity; use ToolDef::activity".into());
        return std::future::ready(Err(error)).boxed_local();
    }
    let key_scope = key_scope.map_or_else(|| env.host.idempotency_scope(), str::to_owned);
    // The digest of the judged value replaces the response id of the key: after a reset, or in
    // another attempt of a session, the judged value may differ.
    let judged = Digest::of_object(&arguments);
    let key = env.idempotency_key(&key_scope, &agent.name, turn, judged.as_str(), &name);
    let info = CallInfo::new(tool.name(), &*name, &*agent.name, turn).with_idempotency_key(key);
    let context = named_keys(run.values(), tool.context_keys());
    let (id, fails_run) = (env.effect(&name), false);
    let (mcp, mcp_session, remote) = (None, None, None);
    let (untrusted, user) = (env.is_untrusted(), env.config.user.clone());
    let (meta, trace) = (ToolCallMeta::default(), env.config.trace_settings());
    let effect = ToolEffect {
        tool,
        info,
        id,
        arguments,
        context,
        mcp,
        mcp_session,
        remote,
        meta,
        fails_run,
        untrusted,
        gates: Vec::new(),
        user,
        trace,
    };
    let calling = env.host.call_tool(effect, scope);
    async move {
        match calling.await {
            Ok(ToolAnswer { context_patch: Some(_), .. }) => {
                Err(failed("the guardrail changes the run context, which it may only read".into()))
            }
            Ok(ToolAnswer { output, context_patch: None, .. }) => {
                parse_guardrail_output(&output).map_err(|error| failed(error.into()))
            }
            Err(ToolEffectError::Cancelled) => Err(RunError::Cancelled { agent: agent.name.clone(), turn }),
            Err(ToolEffectError::NotRegistered { task_queue, tried_for, source }) => Err(RunError::ToolNotRegistered {
                tool: tool.name().to_owned(),
                agent: agent.name.clone(),
                task_queue,
                tried_for,
                source,
            }),
            Err(ToolEffectError::Failed { failure, usage: _, source }) => Err(failed(match failure.kind {
                // Only the host's error says what kept the call from ending.
                ToolFailureKind::TimedOut | ToolFailureKind::OutcomeUnknown => source,
                _ => failure.message.into(),
            })),
            Err(
                ToolEffectError::SessionLost { source, .. }
                | ToolEffectError::Absent(source)
                | ToolEffectError::Host(source),
            ) => Err(failed(source)),
        }
    }
    .boxed_local()
}
