//! Makes a model call: the last change to its input, the hook before it, the call by the host, the
//! hook after it.
//!
//! A model call comes here from `drive/mod.rs`, and continues in `workflow/host/mod.rs`, the host
//! of a workflow ("Flow: a model call" in ARCHITECTURE.md).

use super::{
    config::ModelInput,
    env::Env,
    guard,
    host::{EffectId, Host, LoopEvent, ModelEffectError},
    input_guardrails::ParallelInputGuardrails,
    kept,
};
use crate::{
    engine::{CALLS_LIMITED, ConversationLost, Engine, NATIVE_CALLS_MADE, Resolution, RunError},
    tool::RunContext,
    wire::{ModelCall, ModelResponse},
};

/// The patch (a flag in history, `false` for runs that passed its place with older code) of runs
/// that repeat a call in full when the provider has lost the conversation.
const IN_FULL: &str = "temporal-agents/full-call-after-lost-conversation";

/// Calls the model and passes its response to the engine. When the provider has lost the
/// conversation that it kept, repeats the call once, with all items that the run has.
///
/// # Errors
/// [`RunError`] of the filter, the hooks, the call, an input guardrail beside it, or the calls that
/// the response requests.
pub(super) async fn call<'g, H: Host>(
    env: &'g Env<'_, H>,
    engine: &mut Engine,
    guards: &mut ParallelInputGuardrails<'g>,
    call: ModelCall,
) -> Result<(), RunError> {
    let (agent, turn, model) = (call.agent.clone(), call.turn, call.model.clone());
    env.shown.borrow_mut().clear();
    let id = env.effect(format_args!("{turn}-model"));
    let mut answered = attempt(env, engine, guards, call, id.clone()).await?;
    if let Err(ModelEffectError::ConversationLost { reason, source }) = answered {
        answered = match engine.call_in_full() {
            // The patch is queried only where the behavior changes. In earlier builds a run failed
            // here, so only the histories of failed runs need the old behavior.
            Ok(in_full) if engine.patched(IN_FULL, || env.host.patched(IN_FULL)) => {
                attempt(env, engine, guards, in_full, id.again(1)).await?
            }
            Ok(_) => Err(ModelEffectError::Failed { reason, source }),
            Err(missing) => {
                let lost = ConversationLost { reason, missing, source };
                Err(ModelEffectError::Failed { reason: lost.to_string(), source: Box::new(lost) })
            }
        };
    }
    let response = match answered {
        Ok(response) => response,
        Err(ModelEffectError::Cancelled) => return Err(RunError::Cancelled { agent, turn }),
        Err(ModelEffectError::Failed { reason, source } | ModelEffectError::ConversationLost { reason, source }) => {
            return Err(RunError::Model { agent, turn, model, reason, source });
        }
    };
    env.host.observe(&LoopEvent::ModelAnswered { agent: &agent, turn, response: &response });
    let heard = env.has_hooks(&agent)?.then(|| response.clone());
    if engine.has_too_many_calls(&response) {
        // Records the patch in the state, where `resolve` reads it.
        engine.patched(CALLS_LIMITED, || env.host.patched(CALLS_LIMITED));
    }
    if engine.has_call_that_nothing_makes(&response) {
        engine.patched(NATIVE_CALLS_MADE, || env.host.patched(NATIVE_CALLS_MADE));
    }
    engine.set_kept_requests(kept::on_requests(env, &agent, &response)?);
    let taken = engine.resolve(Resolution::Answered(response));
    if let Some(response) = heard
        && !matches!(taken, Err(RunError::CallIdReused { .. }))
    {
        env.tell(engine, &agent, "on_llm_end", |hooks, ctx| hooks.on_llm_end(ctx, &agent, &response))?;
    }
    taken
}

/// Makes the call under this id, after the input filter and the hooks. The inner result is that of
/// the call.
///
/// # Errors
/// [`RunError`] of the filter, the hooks, or an input guardrail beside the call.
async fn attempt<'g, H: Host>(
    env: &'g Env<'_, H>,
    engine: &mut Engine,
    guards: &mut ParallelInputGuardrails<'g>,
    mut call: ModelCall,
    id: EffectId,
) -> Result<Result<ModelResponse, ModelEffectError>, RunError> {
    let agent = call.agent.clone();
    filter(env, engine, &mut call)?;
    call.tracing = env.config.trace.for_models();
    call.guards_output &= !env.agent(&agent)?.shows_unchecked_output;
    // Removes items that the input has twice, which providers refuse.
    call.input = env.once.borrow_mut().once(call.input);
    env.tell(engine, &agent, "on_llm_start", |hooks, ctx| {
        hooks.on_llm_start(ctx, &agent, call.definitions.instructions.as_deref(), &call.input)
    })?;
    let scope = env.host.child(&env.scope);
    let calling = env.host.call_model(id, call, &scope);
    // Runs the guardrails concurrently with the call, and cancels the call if one trips.
    guards.beside(env, engine, &scope, calling).await
}

fn filter<H: Host>(env: &Env<'_, H>, engine: &Engine, call: &mut ModelCall) -> Result<(), RunError> {
    let Some(filter) = &env.config.call_model_input_filter else { return Ok(()) };
    let given = ModelInput::new(std::mem::take(&mut call.input), call.definitions.instructions.take());
    let run = RunContext::new(engine.state().context.clone());
    let function = || "the call_model_input_filter".to_owned();
    let filtered = guard::call(function, &call.agent, || filter.apply(given, &call.agent, &run))?;
    let ModelInput { input, instructions } =
        filtered.map_err(|source| RunError::Function { function: function(), agent: call.agent.clone(), source })?;
    call.input = input;
    call.definitions.instructions = instructions;
    Ok(())
}
