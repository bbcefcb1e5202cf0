//! Executes a handoff: the author's function, the hooks, and the input of the next agent.

use super::{
    env::Env,
    guard,
    host::{Host, LoopEvent},
    keywords,
};
use crate::{
    agent::{AgentDef, Handoff, HandoffError, HandoffInputData, nest_history, nest_history_with},
    engine::{Engine, Resolution, RunError},
    tool::{RunContext, schema},
    wire::run_state::PlannedHandoff,
};

const FILTER_WITH_SERVER: &str = "Server-managed conversations do not support handoff input filters. Remove \
     Handoff.input_filter or RunConfig.handoff_input_filter, or disable conversation_id, previous_response_id, and \
     auto_previous_response_id.";

/// Calls the handoff's own function, if it has one.
///
/// # Errors
/// [`RunError::InvalidHandoffInput`], or the error of the function.
pub(super) fn take<H: Host>(
    env: &Env<'_, H>,
    engine: &mut Engine,
    agent: &str,
    planned: &PlannedHandoff,
) -> Result<Resolution, RunError> {
    env.host.observe(&LoopEvent::HandedOff { from: agent, to: &planned.target });
    let handoff = definition(env.agent(agent)?, planned);
    let Some((handoff, callback)) = handoff.and_then(|handoff| Some((handoff, handoff.callback()?))) else {
        return Ok(Resolution::HandedOff);
    };
    let by = |validate| handoff.check_input(validate, &planned.arguments);
    let fits = keywords::judged(env.host, by(schema::validate), || by(schema::validate_earlier_keywords).ok());
    let invalid =
        |reason| RunError::InvalidHandoffInput { agent: agent.to_owned(), handoff: planned.tool_name.clone(), reason };
    fits.map_err(invalid)?;
    let mut context = RunContext::new(std::mem::take(engine.context_mut()));
    let function = || format!("on_handoff of {:?}", planned.tool_name);
    let taken = guard::call(function, agent, || callback(&mut context, &planned.arguments));
    *engine.context_mut() = context.into_values();
    taken?.map_err(|issue| match issue {
        HandoffError::InvalidInput(reason) => invalid(reason),
        HandoffError::Refused(source) => RunError::Function { function: function(), agent: agent.to_owned(), source },
    })?;
    Ok(Resolution::HandedOff)
}

/// Calls the hooks, then builds the input of the next agent: with the handoff's filter, otherwise
/// with the run's filter, otherwise by nesting the history.
///
/// # Errors
/// [`RunError`] of a hook, a filter or a mapper, or when a filter is set and the provider keeps the
/// conversation.
pub(super) fn rewrite<H: Host>(
    env: &Env<'_, H>,
    engine: &Engine,
    source: &str,
    planned: &PlannedHandoff,
    data: HandoffInputData,
) -> Result<Resolution, RunError> {
    env.tell(engine, source, "on_handoff", |hooks, ctx| hooks.on_handoff(ctx, source, &planned.target))?;
    let definition = definition(env.agent(source)?, planned);
    let filter = definition.and_then(Handoff::filter).or(env.config.handoff_input_filter.as_ref());
    let is_server_managed = engine.state().server.is_some();
    if let Some(filter) = filter {
        if is_server_managed {
            return Err(RunError::User {
                agent: source.to_owned(),
                message: FILTER_WITH_SERVER.to_owned(),
                has_run_data: true,
            });
        }
        let function = || format!("the input filter of handoff {:?}", planned.tool_name);
        let filtered = guard::call(function, source, || filter.apply(data))?;
        return Ok(Resolution::Rewritten(Some(Box::new(filtered))));
    }
    let nests = definition.and_then(Handoff::nests_history).unwrap_or(env.config.nest_handoff_history);
    if !nests || is_server_managed {
        return Ok(Resolution::Rewritten(None));
    }
    let nested = match &env.config.handoff_history_mapper {
        Some(mapper) => {
            let function = || "the handoff_history_mapper".to_owned();
            guard::call(function, source, || nest_history_with(data, |transcript| mapper.map(transcript)))?
        }
        None => nest_history(data),
    };
    Ok(Resolution::Rewritten(Some(Box::new(nested))))
}

fn definition<'a>(agent: &'a AgentDef, planned: &PlannedHandoff) -> Option<&'a Handoff> {
    agent.handoff_named(&planned.tool_name, planned.variant)
}
