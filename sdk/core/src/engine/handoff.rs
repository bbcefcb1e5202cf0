//! Moves the conversation to another agent.

use std::collections::BTreeSet;

use serde_json::json;

use crate::{
    agent::HandoffInputData,
    wire::{
        Item, NewItem, NewItemKind, RunState,
        run_state::{HandoffEnds, Phase, PlannedHandoff, Rewritten},
    },
};

/// The output of handoff calls that were ignored because another one was taken.
const IGNORED_HANDOFF: &str = "Multiple handoffs detected, ignoring this one.";

/// Takes the first handoff. The model receives an output for each of the others that it was
/// ignored.
pub(super) fn switch_agent(state: &mut RunState, handoffs: &[PlannedHandoff]) -> Phase {
    let (taken, ignored) = handoffs.split_first().expect("a handoff is due: states without one are rejected");
    let source = std::mem::replace(&mut state.agent, taken.target.clone());
    for handoff in ignored {
        state.items.push(NewItem {
            kind: NewItemKind::ToolCallOutput,
            agent: source.clone(),
            raw: Item::function_call_output(&handoff.call_id, IGNORED_HANDOFF.into()),
            handoff: None,
            side_data: None,
        });
    }
    // The space after the colon matches the JSON of the OpenAI Agents SDK: the model receives this
    // text.
    let message = json!({"assistant": taken.target}).to_string().replacen("\":", "\": ", 1);
    state.items.push(NewItem {
        kind: NewItemKind::HandoffOutput,
        agent: source.clone(),
        raw: Item::function_call_output(&taken.call_id, message.into()),
        handoff: Some(HandoffEnds { source: source.clone(), target: taken.target.clone() }),
        side_data: None,
    });
    state.start_due = true;
    Phase::RewriteDue { handoff: taken.clone(), source }
}

/// Returns the current conversation in the three parts that filters receive. Placeholders for
/// approvals are in none of them.
pub(super) fn data(state: &RunState) -> HandoffInputData {
    let new = state.items.get(state.turn_began.items..).unwrap_or_default().to_vec();
    let earlier = state.model_items().count().saturating_sub(new.len());
    let pre = state.model_items().take(earlier).filter(|item| is_no_placeholder(item)).cloned().collect();
    HandoffInputData::new(state.input.clone(), pre, new)
}

/// Stores the conversation that the next agent receives.
pub(super) fn rewrite(state: &mut RunState, rewritten: Option<Box<HandoffInputData>>) -> Phase {
    let Some(data) = rewritten else { return Phase::TurnDue };
    let HandoffInputData { input_history, pre_handoff_items, new_items, input_items, forwarded } = *data;
    let began = state.turn_began.items.min(state.items.len());
    let earlier = indices_of_model_items(state);
    let from_earlier = forwarded.earlier.iter().filter_map(|at| earlier.get(*at).copied().flatten());
    let still_there = |place: &usize| state.items.get(*place).is_some_and(|item| input_history.contains(&item.raw));
    let before = state.rewritten.iter().flat_map(|rewritten| rewritten.in_input.iter().copied()).filter(still_there);
    // These items are word for word in the new input; the result does not list them twice.
    let in_input: BTreeSet<usize> =
        before.chain(from_earlier).chain(forwarded.new.iter().map(|at| began + at)).collect();
    state.items.truncate(began);
    state.items.extend(new_items.iter().cloned());
    let mut items = pre_handoff_items;
    items.extend(input_items.unwrap_or(new_items));
    state.input = input_history;
    state.rewritten =
        Some(Rewritten { items, stands_for: state.items.len(), in_input: in_input.into_iter().collect() });
    Phase::TurnDue
}

/// Returns the indices of the model's items among the run's own, with `None` for items that are not
/// there; placeholders are left out.
fn indices_of_model_items(state: &RunState) -> Vec<Option<usize>> {
    let stands_for = state.rewritten.as_ref().map_or(0, |rewritten| rewritten.stands_for.min(state.items.len()));
    let rewritten = state.rewritten.as_ref().map_or(&[][..], |rewritten| &*rewritten.items);
    let place = |item: &NewItem| state.items.iter().position(|other| other == item);
    let since = (stands_for..).zip(state.items.get(stands_for..).unwrap_or_default());
    let since = since.filter(|(_, item)| is_no_placeholder(item)).map(|(place, _)| Some(place));
    rewritten.iter().filter(|item| is_no_placeholder(item)).map(place).chain(since).collect()
}

fn is_no_placeholder(item: &NewItem) -> bool {
    item.kind != NewItemKind::ToolApproval
}
