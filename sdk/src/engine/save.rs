//! Selects the items of a run that belong in its session, and the time to write them.

use super::rules::{ReasoningItemIds, Rules};
use crate::wire::{
    Item, NewItem, NewItemKind, RunState,
    run_state::{Admission, Phase, ToolRound, ToolUse},
};

/// Returns the items to write now: the input at the start, then each turn when it is complete.
pub(super) fn due(state: &RunState, rules: &Rules) -> Option<Vec<Item>> {
    let session = state.session.as_ref()?;
    if !session.input.is_empty() {
        return Some(session.input.clone());
    }
    if state.admission != Admission::Admitted {
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
