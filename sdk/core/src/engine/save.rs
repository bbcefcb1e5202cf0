//! Selects the items of a run that belong in its session, and the time to write them.
//!
//! # Design
//! **The input is written when the guardrails have admitted it.** An input that trips a guardrail is
//! not kept: the next run of the session would have it in its own input, and trip again. The Agents
//! SDK writes the input first ([`Rules::keeps_tripped_input`]).

use super::rules::{ReasoningItemIds, Rules};
use crate::wire::{
    Item, NewItem, NewItemKind, RunState,
    run_state::{Admission, Phase, ToolRound, ToolUse},
};

/// Returns the items to write now: the input, then each turn when it is complete.
pub(super) fn due(state: &RunState, rules: &Rules) -> Option<Vec<Item>> {
    let session = state.session.as_ref()?;
    let is_admitted = state.admission == Admission::Admitted;
    // With no turns, the run ends before its guardrails check the input.
    let has_no_turns = state.max_turns == Some(0);
    if !session.input.is_empty() && (is_admitted || has_no_turns || rules.keeps_tripped_input) {
        return Some(session.input.clone());
    }
    if !is_admitted {
        return None;
    }
    let is_complete = match &state.phase {
        Phase::TurnDue | Phase::Finished { .. } => true,
        Phase::Interrupted { round } => !is_held_back(round),
        _ => false,
    };
    let items = input_items(state.items.get(session.saved..).filter(|_| is_complete)?, rules.reasoning_item_ids);
    if items.is_empty() { None } else { Some(super::once(items)) }
}

/// Records that the due items are written.
pub(super) fn done(state: &mut RunState) {
    let items = state.items.len();
    let Some(session) = &mut state.session else { return };
    if session.input.is_empty() {
        session.saved = items;
    } else {
        session.input.clear();
    }
}

/// Returns `true` if a paused turn is kept out of the session: it may end the run with an output
/// that a guardrail then holds back.
fn is_held_back(round: &ToolRound) -> bool {
    round.guards_output && round.tool_use != ToolUse::RunLlmAgain
}

/// Returns items of a run as the input of a model or of a session: without placeholders for
/// approvals.
pub fn input_items<'a>(items: impl IntoIterator<Item = &'a NewItem>, ids: ReasoningItemIds) -> Vec<Item> {
    let items = items.into_iter();
    let mut input = Vec::with_capacity(items.size_hint().1.unwrap_or_default());
    let kept = items.filter(|item| item.kind != NewItemKind::ToolApproval);
    input.extend(kept.map(|item| match (item.kind, ids) {
        (NewItemKind::Reasoning, ReasoningItemIds::Omit) => item.raw.without("id"),
        _ => item.raw.without_creator(),
    }));
    input
}
