//! Trims a turn that an error has ended.
//!
//! A run that fails keeps its complete turns. Of the last turn it keeps the items that represent
//! effects: calls that ran, with their outputs and the reasoning that led to them. Messages and
//! calls that did not run are removed.

use std::collections::BTreeSet;

use super::{blocked, error::RunError, rules::Rules, save::input_items};
use crate::wire::{
    Item, NewItem, NewItemKind, RunState,
    run_state::{Admission, FinalSource, Phase, TurnMark},
};

/// Ends the run at its current step. Returns its items that are still to be written to the session.
pub(super) fn run(state: &mut RunState, rules: &Rules, error: &RunError) -> Vec<Item> {
    let can_go_on = can_go_on(state, error);
    let left = turn(state, rules, error);
    if !can_go_on {
        state.phase = Phase::Failed { reason: error.to_string() };
    }
    left
}

/// Returns `true` if a run with this error has no incomplete turn, so that it can be resumed at its
/// current step.
fn can_go_on(state: &RunState, error: &RunError) -> bool {
    match (&state.phase, error) {
        // The turn has no items yet.
        (Phase::ModelDue { .. }, error) => !matches!(error, RunError::InputGuardrailTripped { .. }),
        (Phase::TurnDue, RunError::MaxTurnsExceeded { .. }) | (Phase::Finished { .. } | Phase::Failed { .. }, _) => {
            true
        }
        _ => false,
    }
}

/// Trims the turn. Returns the items of the run that are still to be written to the session.
fn turn(state: &mut RunState, rules: &Rules, error: &RunError) -> Vec<Item> {
    match error {
        // The items are valid, but it is not known if the store already has them.
        RunError::Session { .. } => return Vec::new(),
        RunError::InputGuardrailTripped { .. } if state.admission != Admission::Admitted => {
            // All items belong to the first turn, and the first item belongs to the first agent.
            if let Some(first) = state.items.first() {
                state.agent.clone_from(&first.agent);
            }
            state.items.clear();
            return Vec::new();
        }
        // The phase excludes a guardrail of an agent used as a tool, whose error is a failure of
        // the tool.
        RunError::OutputGuardrailTripped { .. } if matches!(state.phase, Phase::FinalDue { .. }) => {
            let left = blocked::left_for_session(state, rules);
            if matches!(&state.phase, Phase::FinalDue { output } if output.source == FinalSource::TurnLimit) {
                state.items.truncate(state.turn_began.items);
            }
            return left;
        }
        _ => {}
    }
    if let Phase::RewriteDue { source, .. } = &state.phase {
        // The handoff was not completed.
        state.agent.clone_from(source);
    }
    // A guardrail that fails has not rejected the output, so the turn counts as complete.
    let is_complete = match state.phase {
        Phase::Finished { .. } => true,
        Phase::FinalDue { .. } => !matches!(error, RunError::Panicked { .. }),
        _ => false,
    };
    if !is_complete {
        keep_what_ran(state);
    }
    let Some(session) = &mut state.session else { return Vec::new() };
    // The input is stored with the finished work once its guardrails have admitted it. It is taken, so that
    // a resumed run does not store it again.
    let keeps_input = state.admission == Admission::Admitted || rules.keeps_tripped_input;
    let mut left = if keeps_input { std::mem::take(&mut session.input) } else { Vec::new() };
    let items = state.items.get(session.saved..).unwrap_or_default();
    left.extend(input_items(items, rules.reasoning_item_ids));
    super::once(left)
}

fn keep_what_ran(state: &mut RunState) {
    let TurnMark { items: began, tool_input, tool_output } = state.turn_began;
    let turn = state.items.split_off(began.min(state.items.len()));
    let is_publishable = state.server.is_none() && state.admission == Admission::Admitted && !state.holds_back_turn;
    let kept = if is_publishable { what_ran(&turn, &state.completed) } else { Vec::new() };
    if kept.is_empty() {
        state.guardrails.tool_input.truncate(tool_input);
        state.guardrails.tool_output.truncate(tool_output);
    }
    state.items.extend(kept);
}

fn what_ran(turn: &[NewItem], completed: &[String]) -> Vec<NewItem> {
    let completed: BTreeSet<&str> = completed.iter().map(String::as_str).collect();
    let ran = |item: &NewItem| item.raw.call_id().is_some_and(|id| completed.contains(id));
    let is_complete_hosted_call = |item: &NewItem| {
        item.raw.call_id().is_none() && item.raw.get("status").is_some_and(|status| status == "completed")
    };
    let mut kept = Vec::new();
    let mut reasoning: Vec<&NewItem> = Vec::new();
    // Reasoning is kept only if it is followed by a call that is kept.
    for item in turn {
        match item.kind {
            NewItemKind::Reasoning => {
                reasoning.push(item);
                continue;
            }
            NewItemKind::ToolCall if ran(item) || is_complete_hosted_call(item) => {
                kept.extend(reasoning.iter().map(|item| (*item).clone()));
                kept.push(item.clone());
            }
            NewItemKind::ToolCallOutput if ran(item) => kept.push(item.clone()),
            _ => {}
        }
        reasoning.clear();
    }
    kept
}

/// Returns `true` if the final output of this phase came from a tool.
pub(super) fn is_tool_output(phase: &Phase) -> bool {
    matches!(phase, Phase::FinalDue { output } if output.source == FinalSource::Tool)
}
