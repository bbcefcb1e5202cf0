//! Ends a run: its output, the results of guardrails, and the outputs of error handlers.

use serde_json::Value;

use super::{blocked, error::RunError, rules::Rules, step::HandlerOutput};
use crate::wire::{
    NewItem, NewItemKind, RunState,
    run_state::{Admission, FinalOutput, FinalSource, InputGuardrailResult, OutputGuardrailResult, Phase, Recoverable},
};

/// Returns the phase in which a message of the model is the final output.
pub(super) fn message(value: Value) -> Phase {
    Phase::FinalDue { output: FinalOutput { value, source: FinalSource::Message } }
}

/// Records the results of input guardrails: the blocking ones first, then those beside the first
/// turn.
///
/// # Errors
/// [`RunError::InputGuardrailTripped`] with the first guardrail that trips; later results are not
/// reported.
pub(super) fn take_input_results(
    state: &mut RunState,
    results: Vec<InputGuardrailResult>,
    more: bool,
) -> Result<(), RunError> {
    let tripped = results.iter().position(|result| result.tripwire_triggered);
    let asked = tripped.map_or(results.len(), |place| place + 1);
    state.guardrails.input.extend(results.into_iter().take(asked));
    if let (Some(_), Some(result)) = (tripped, state.guardrails.input.last()) {
        let result = Box::new(result.clone());
        return Err(RunError::InputGuardrailTripped { agent: state.agent.clone(), result });
    }
    state.admission = if more { Admission::ParallelDue } else { Admission::Admitted };
    Ok(())
}

/// Records the results of output guardrails.
///
/// # Errors
/// [`RunError::OutputGuardrailTripped`] with the first guardrail that trips; later results are not
/// reported.
pub(super) fn take_output_results(
    state: &mut RunState,
    output: FinalOutput,
    results: Vec<OutputGuardrailResult>,
    rules: &Rules,
) -> Result<Phase, RunError> {
    let tripped = results.iter().position(|result| result.tripwire_triggered);
    let asked = tripped.map_or(results.len(), |place| place + 1);
    let is_tool_output = output.source == FinalSource::Tool;
    for mut result in results.into_iter().take(asked) {
        if tripped.is_some() && is_tool_output {
            result.agent_output = blocked::placeholder(rules).into();
            result.output_info = Value::Null;
        }
        state.guardrails.output.push(result);
    }
    if let (Some(_), Some(result)) = (tripped, state.guardrails.output.last()) {
        let result = result.clone();
        let (agent, from_tool) = (state.agent.clone(), is_tool_output);
        state.phase = Phase::FinalDue { output };
        return Err(RunError::OutputGuardrailTripped { agent, result: Box::new(result), from_tool });
    }
    Ok(Phase::Finished { output: output.value })
}

/// Applies the output of an error handler.
///
/// # Errors
/// The error itself when no handler returned an output; except for a missing structured output,
/// after which the model is called again.
pub(super) fn handled(
    state: &mut RunState,
    error: &Recoverable,
    handled: Option<HandlerOutput>,
) -> Result<Phase, RunError> {
    let Some(HandlerOutput { value, message }) = handled else { return unhandled(state, error) };
    let source = match error {
        Recoverable::MaxTurns { .. } => {
            state.turn_began.items = state.items.len();
            // A run that may make no model call has no first turn for guardrails to check.
            state.admission = Admission::Admitted;
            FinalSource::TurnLimit
        }
        _ => FinalSource::Handler,
    };
    if let Some(raw) = message {
        state.items.push(NewItem {
            kind: NewItemKind::MessageOutput,
            agent: state.agent.clone(),
            raw,
            handoff: None,
            side_data: None,
        });
    }
    Ok(Phase::FinalDue { output: FinalOutput { value, source } })
}

fn unhandled(state: &RunState, error: &Recoverable) -> Result<Phase, RunError> {
    let agent = state.agent.clone();
    match error {
        Recoverable::MaxTurns { max_turns } => Err(RunError::MaxTurnsExceeded { max_turns: *max_turns, agent }),
        Recoverable::ModelRefusal { refusal } => Err(RunError::ModelRefusal { agent, refusal: refusal.clone() }),
        Recoverable::InvalidFinalOutput { reason } => Err(RunError::InvalidOutput { agent, reason: reason.clone() }),
        Recoverable::EmptyFinalOutput => Ok(Phase::TurnDue),
    }
}
