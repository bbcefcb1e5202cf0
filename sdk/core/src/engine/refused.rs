//! Ends a run whose model repeats a call with arguments that are refused.
//!
//! A model that has learned the field and the reason, and writes the same arguments again, does not
//! get further: without this rule it goes on to the limit of turns, and each turn is billed.
//!
//! The rule, for one run; a nested run counts for itself:
//!
//! - Two calls are the same if agent and tool have the same names and the arguments have the same
//!   canonical JSON. Arguments that are not JSON are compared as text.
//! - A call counts if its arguments were refused: by the schema, or by the type that the body
//!   takes. An error of the body or of another server does not count.
//! - The calls are counted per agent and tool, in call order, also within one response and across
//!   pauses. Calls of other tools in between change nothing. Any other outcome of a call of the
//!   tool, or other arguments, start the count anew. A call that waits is counted once it has its
//!   outcome.
//! - The third such call ends the run. Calls of the same response have run by then; their outputs
//!   are kept as for any error of a turn.
//!
//! # Design
//! **The count is a member of the state.** The conversation does not say why a call has its output:
//! a rule of the author may have replaced the message. Almost no state has the member; it is
//! carried over pauses and to the next execution like all others.

use serde_json::Value;

use super::{
    error::RunError,
    step::{CallResult, RefusedArguments, ToolOutcome},
};
use crate::wire::{
    RunState,
    arguments::read_arguments,
    digest::Digest,
    run_state::{PlannedCall, RefusedCalls, ToolRound},
};

/// Most calls in a row with the same refused arguments; the last one ends the run.
pub(super) const MAX_SAME_REFUSALS: u32 = 3;

/// Counts the refused calls among these outcomes. Returns the error of the first one that ends the
/// run.
pub(super) fn count(state: &mut RunState, round: &ToolRound, outcomes: &[ToolOutcome]) -> Option<RunError> {
    let mut ending = None;
    for outcome in outcomes {
        let call = &round.calls[outcome.index].call;
        match (&outcome.refused, &outcome.result) {
            (Some(refused), _) => {
                let times = add(state, call);
                if times >= MAX_SAME_REFUSALS && ending.is_none() {
                    ending = Some(error(state, call, refused));
                }
            }
            (None, CallResult::Output(_)) => forget(state, call),
            (None, _) => {}
        }
    }
    ending
}

/// Counts a refused call. Returns the number of such calls in a row.
fn add(state: &mut RunState, call: &PlannedCall) -> u32 {
    let arguments = digest_of(&call.arguments);
    let calls = state.refused.entry(state.agent.clone()).or_default();
    let calls = calls
        .entry(call.tool.clone())
        .and_modify(|calls| {
            if calls.arguments == arguments {
                calls.times = calls.times.saturating_add(1);
            } else {
                *calls = RefusedCalls { arguments: arguments.clone(), times: 1 };
            }
        })
        .or_insert(RefusedCalls { arguments, times: 1 });
    calls.times
}

fn forget(state: &mut RunState, call: &PlannedCall) {
    if let Some(calls) = state.refused.get_mut(&state.agent) {
        calls.remove(&call.tool);
        if calls.is_empty() {
            state.refused.remove(&state.agent);
        }
    }
}

fn digest_of(arguments: &str) -> Digest {
    let value = match read_arguments(arguments) {
        Ok(members) => Value::Object(members),
        Err(_) => serde_json::from_str(arguments).unwrap_or_else(|_| Value::String(arguments.to_owned())),
    };
    Digest::of_value(&value)
}

fn error(state: &RunState, call: &PlannedCall, refused: &RefusedArguments) -> RunError {
    let RefusedArguments { field, reason } = refused.clone();
    RunError::SameCallRefused {
        agent: state.agent.clone(),
        turn: state.turn,
        tool: call.tool.clone(),
        field,
        reason: reason.into(),
    }
}
