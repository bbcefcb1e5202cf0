//! A model call: the last change to its input, the hooks around it, the host's effect.

use super::{
    config::ModelInput,
    env::Env,
    guard,
    host::{Host, ModelEffectError, RunEvent},
    input_guardrails::InputGuards,
};
use crate::{
    engine::{CALLS_LIMITED, Engine, Resolution, RunError},
    tool::RunContext,
    wire::ModelCall,
};

/// Calls the model and gives its answer to the engine.
///
/// # Errors
/// [`RunError`] of the filter, the hooks, the call, of an input guardrail beside it, or of what the answer asks for.
pub(super) async fn call<'g, H: Host>(
    env: &'g Env<'_, H>,
    engine: &mut Engine,
    guards: &mut InputGuards<'g>,
    mut call: ModelCall,
) -> Result<(), RunError> {
    let (agent, turn, model) = (call.agent.clone(), call.turn, call.model.clone());
    filter(env, engine, &mut call)?;
    call.input = env.once.borrow_mut().once(call.input);
    env.tell(engine, &agent, "on_llm_start", |hooks, ctx| {
        hooks.on_llm_start(ctx, &agent, call.definitions.instructions.as_deref(), &call.input)
    })?;
    let scope = env.host.child(&env.scope);
    let calling = env.host.call_model(env.effect(format_args!("{turn}-model")), call, &scope);
    let response = match guards.beside(env, engine, &scope, calling).await? {
        Ok(response) => response,
        Err(ModelEffectError::Cancelled) => return Err(RunError::Cancelled { agent, turn }),
        Err(ModelEffectError::Failed { reason, source }) => {
            return Err(RunError::Model { agent, turn, model, reason, source });
        }
    };
    env.host.observe(&RunEvent::ModelAnswered { agent: &agent, turn, response: &response });
    let heard = env.has_hooks(&agent)?.then(|| response.clone());
    if engine.has_too_many_calls(&response) {
        engine.patched(CALLS_LIMITED, || env.host.patched(CALLS_LIMITED));
    }
    let taken = engine.resolve(Resolution::Answered(response));
    if let Some(response) = heard
        && !matches!(taken, Err(RunError::CallIdReused { .. }))
    {
        env.tell(engine, &agent, "on_llm_end", |hooks, ctx| hooks.on_llm_end(ctx, &agent, &response))?;
    }
    taken
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
