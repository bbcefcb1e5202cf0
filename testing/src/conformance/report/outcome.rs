//! Reports runs that have ended with an output, or are paused.

use serde_json::{Map, Value, json};
use temporal_agents::{
    RunResult,
    run::PausedRun,
    wire::{GuardrailResults, Item, NewItem, Usage},
};

use super::items::{guardrail_results, interruptions, new_items, usage};

/// Reports a run with a final output. The normalized view is reported only if no provider keeps the
/// conversation.
pub(crate) fn finished(result: &RunResult<Value>, has_server_state: bool) -> Value {
    let mut outcome = body(&result.last_agent, &result.new_items, &result.usage, &result.guardrails);
    outcome.insert("kind".to_owned(), "final".into());
    outcome.insert("final_output".to_owned(), result.final_output.clone());
    outcome.insert("last_response_id".to_owned(), json!(result.last_response_id));
    outcome.insert("interruptions".to_owned(), json!([]));
    add_input_lists(&mut outcome, result.to_input_list(), || result.to_normalized_input_list(), has_server_state);
    Value::Object(outcome)
}

/// Reports a run that remains paused.
pub(crate) fn interrupted(paused: &PausedRun, has_server_state: bool) -> Value {
    let state = &paused.state;
    let mut outcome = body(&state.agent, &state.items, &state.usage, &state.guardrails);
    outcome.insert("kind".to_owned(), "interrupted".into());
    outcome.insert("last_response_id".to_owned(), json!(state.last_response_id));
    outcome.insert("interruptions".to_owned(), interruptions(&paused.interruptions()));
    add_input_lists(&mut outcome, paused.to_input_list(), || paused.to_normalized_input_list(), has_server_state);
    Value::Object(outcome)
}

/// Reports a pause that is followed by decisions.
pub(crate) fn pause(paused: &PausedRun) -> Value {
    let state = &paused.state;
    json!({
        "last_agent": state.agent,
        "interruptions": interruptions(&paused.interruptions()),
        "new_items": new_items(&state.items),
        "usage": usage(&state.usage),
    })
}

/// Returns the members that the outcomes of all runs have in common.
pub(super) fn body(
    last_agent: &str,
    items: &[NewItem],
    used: &Usage,
    guardrails: &GuardrailResults,
) -> Map<String, Value> {
    let mut told = Map::from_iter([
        ("last_agent".to_owned(), last_agent.into()),
        ("new_items".to_owned(), new_items(items)),
        ("usage".to_owned(), usage(used)),
    ]);
    told.extend(guardrail_results(guardrails));
    told
}

fn add_input_lists(
    outcome: &mut Map<String, Value>,
    list: Vec<Item>,
    normalized: impl FnOnce() -> Vec<Item>,
    has_server_state: bool,
) {
    let normalized = (!has_server_state).then(normalized).filter(|normalized| *normalized != list);
    if let Some(normalized) = normalized {
        outcome.insert("to_input_list_normalized".to_owned(), json!(normalized));
    }
    outcome.insert("to_input_list".to_owned(), json!(list));
}
