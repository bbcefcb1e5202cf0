//! Identifies calls by their id: finds the calls of a response that are new, and those that were
//! made before.

use serde_json::Value;

use super::{error::RunError, native, rules::UnknownTools};
use crate::wire::{FunctionCall, Item, ItemView, NewItem, NewItemKind, RunState, ToolSpec, run_state::TurnSetup};

pub(super) const NO_ID: &str = "Tool invocations require a non-empty string call ID before execution.";
pub(super) const REUSED_HERE: &str = "Model reused a tool call ID for a different invocation in one response. \
                           Use a unique call ID for each tool invocation.";
pub(super) const REUSED_LATER: &str = "Model reused a completed tool call ID for a different invocation. \
                            Use a unique call ID for each tool invocation.";
const REUSED_FILTERED: &str =
    "Model reused a tool call ID for a different invocation. Use a unique call ID for each tool invocation.";
const QUESTION_REUSED: &str = "Model reused an approval-gated tool call ID for a different invocation. \
                               Use a unique call ID for each approval-gated invocation.";

/// Returns the response without the calls that were made before, in it or earlier, and without the
/// reasoning that led to them; and `true` if any item was removed.
///
/// # Errors
/// [`RunError::CallIdReused`] when a call has no id, or the id of another call.
pub(super) fn new_items_of(
    state: &RunState,
    setup: &TurnSetup,
    unknown_tools: UnknownTools,
    response: Vec<Item>,
) -> Result<(Vec<Item>, bool), RunError> {
    let mut is_new = Vec::with_capacity(response.len());
    for (place, item) in response.iter().enumerate() {
        let before = &response[..place];
        let new = match item.view() {
            ItemView::FunctionCall(call) => is_new_call(state, setup, unknown_tools, before, &call),
            ItemView::NativeCall { kind, call } => native::is_new(state, setup, &response, place, kind, &call),
            ItemView::HostedCall { .. } => Ok(is_new_hosted_call(state, before, item)),
            ItemView::Other { kind: "mcp_approval_request" } => is_new_question(before, item),
            _ => Ok(true),
        };
        is_new.push(new.map_err(|message| RunError::CallIdReused {
            agent: state.agent.clone(),
            turn: state.turn,
            message: message.to_owned(),
        })?);
    }
    if is_new.iter().all(|new| *new) {
        return Ok((response, false));
    }
    // From the end, because reasoning is removed together with the item after it.
    let mut next_is_dropped = false;
    for (place, item) in response.iter().enumerate().rev() {
        if item.kind() == "reasoning" {
            is_new[place] = !next_is_dropped;
        } else {
            next_is_dropped = !is_new[place];
        }
    }
    Ok((response.into_iter().zip(is_new).filter_map(|(item, new)| new.then_some(item)).collect(), true))
}

fn is_new_call(
    state: &RunState,
    setup: &TurnSetup,
    unknown_tools: UnknownTools,
    before: &[Item],
    call: &FunctionCall<'_>,
) -> Result<bool, &'static str> {
    if call.call_id.is_empty() {
        return Err(NO_ID);
    }
    let same_id = |item: &Item| match (item.call_id() == Some(call.call_id)).then(|| item.view())? {
        ItemView::FunctionCall(other) => Some(is_same(&other, call)),
        ItemView::NativeCall { call, .. } if native::is_bound(setup, call.name) => Some(false),
        _ => None,
    };
    // One pass over the whole conversation: the calls and outputs of this id, with their indices.
    let of_run = state.items.iter().enumerate().filter(|(_, item)| item.raw.call_id() == Some(call.call_id));
    let of_run: Vec<(usize, &NewItem)> = of_run.collect();
    let (rewritten, stands_for) = state.rewritten.as_ref().map_or((&[][..], 0), |it| (&*it.items, it.stands_for));
    let since = of_run.iter().filter(|(place, _)| *place >= stands_for).map(|(_, item)| *item);
    let shown = rewritten.iter().chain(since).find_map(|item| same_id(&item.raw));
    if shown == Some(false) {
        return Err(REUSED_LATER);
    }
    // A handoff and a tool are different functions, even if they have the same name.
    let is_handoff = setup.definitions.handoffs.iter().any(|handoff| handoff.tool_name == call.name);
    let has_changed_role = |(_, item): &(usize, &NewItem)| {
        matches!(item.kind, NewItemKind::HandoffCall | NewItemKind::ToolCall)
            && (item.kind == NewItemKind::HandoffCall) != is_handoff
    };
    if of_run.iter().any(has_changed_role) {
        return Err(REUSED_FILTERED);
    }
    let here = before.iter().find_map(same_id);
    if here == Some(false) {
        return Err(REUSED_HERE);
    }
    // A call that a handoff's filter has hidden from the model was still made.
    let hidden = of_run.iter().rev().find_map(|(_, item)| same_id(&item.raw));
    if hidden == Some(false) {
        return Err(REUSED_FILTERED);
    }
    let is_repeat = shown.or(here).or(hidden).is_some();
    // A call of a tool that this agent does not have is an error, even if another agent has made
    // the same call before.
    let is_tool = |tool: &ToolSpec| matches!(tool, ToolSpec::Function { name, .. } if name == call.name);
    let is_mistake = unknown_tools == UnknownTools::Fail && !is_handoff && !setup.definitions.tools.iter().any(is_tool);
    Ok(!is_repeat || is_mistake)
}

/// Returns `true` if a hosted call is not a repetition of an earlier one with the same id.
fn is_new_hosted_call(state: &RunState, before: &[Item], call: &Item) -> bool {
    let is_same = |item: &Item| item.kind() == call.kind() && item.id().is_some_and(|id| call.id() == Some(id));
    !before.iter().any(is_same) && !state.model_items().any(|item| is_same(&item.raw))
}

fn is_new_question(before: &[Item], question: &Item) -> Result<bool, &'static str> {
    let is_question = |item: &&Item| item.kind() == "mcp_approval_request" && item.id() == question.id();
    match before.iter().find(is_question) {
        None => Ok(true),
        Some(same) if same == question => Ok(false),
        Some(_) => Err(QUESTION_REUSED),
    }
}

fn is_same(one: &FunctionCall<'_>, other: &FunctionCall<'_>) -> bool {
    let arguments = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_else(|_| Value::String(text.to_owned()));
    one.name == other.name
        && one.namespace == other.namespace
        && (one.arguments == other.arguments || arguments(&one.arguments) == arguments(&other.arguments))
}
