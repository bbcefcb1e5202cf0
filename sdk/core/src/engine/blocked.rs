//! Replacements for outputs that an output guardrail holds back.

use super::{abandon::is_tool_output, rules::Rules};
use crate::wire::{Item, ItemView, NativeKind, NewItem, NewItemKind, RunState};

/// The default replacement for an output that was held back.
const WITHHELD: &str = "Output withheld by an output guardrail.";

/// Returns the items for the session of a turn whose final output was held back. The output of a
/// message leaves no items; the output of a tool leaves the calls with a placeholder for every
/// output, because a call without an output would break the next run.
pub(super) fn left_for_session(state: &RunState, rules: &Rules) -> Vec<Item> {
    let (Some(session), true) = (&state.session, is_tool_output(&state.phase)) else { return Vec::new() };
    let turn = state.items.get(session.saved..).unwrap_or_default();
    with_placeholders(turn, rules).unwrap_or_default()
}

/// Returns the text that replaces an output that was held back.
pub(super) fn placeholder(rules: &Rules) -> String {
    rules.blocked_message.clone().unwrap_or_else(|| WITHHELD.to_owned())
}

/// Returns the calls and outputs of the turn, or `None` if an item cannot be replaced by a
/// placeholder.
fn with_placeholders(turn: &[NewItem], rules: &Rules) -> Option<Vec<Item>> {
    let mut kept = Vec::new();
    let mut calls = Vec::new();
    for item in turn {
        match (item.kind, item.raw.view()) {
            (NewItemKind::MessageOutput | NewItemKind::ToolApproval, _) => {}
            (NewItemKind::ToolCall, ItemView::FunctionCall(call) | ItemView::NativeCall { call, .. }) => {
                calls.push((call.call_id.to_owned(), call.arguments.into_owned()));
                kept.push(item.raw.clone());
            }
            (NewItemKind::ToolCallOutput, ItemView::FunctionCallOutput { call_id, .. }) => {
                let place = calls.iter().position(|(call, _)| call == call_id)?;
                calls.remove(place);
                kept.push(item.raw.with("output", placeholder(rules).into()));
            }
            (NewItemKind::ToolCallOutput, ItemView::NativeCallOutput { call_id, .. }) => {
                let place = calls.iter().position(|(call, _)| call == call_id)?;
                let (_, arguments) = calls.remove(place);
                let kind = NativeKind::of_output(item.raw.kind()).filter(|kind| *kind != NativeKind::Computer)?;
                kept.push(kind.output(call_id, &arguments, &placeholder(rules).into(), false));
            }
            _ => return None,
        }
    }
    calls.is_empty().then_some(kept)
}
