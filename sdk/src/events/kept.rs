//! Conversion between facts and their form in the checkpoint of a session
//! ([`SessionFacts`](temporal_agents_core::wire::session_facts::SessionFacts)), which leaves out what the run's
//! state holds.

use serde_json::{Map, Value};
use temporal_agents_core::wire::{
    EventKind, Item, ItemView, RunEvent, RunState, WireVersion, session_facts::SessionFacts,
};

/// The maximum size of the content of restored facts, in bytes of JSON.
const MAX_RESTORED_BYTES: usize = 16_000_000;
/// The member with the index, among the items of the state, of the item that has the content.
const ITEM_AT: &str = "item_at";
/// The member with the index, in the input of the state, of the first item of the content.
const INPUT_FROM: &str = "input_from";

/// Returns a fact of this run in the kept form. Content that `state` holds is left out.
pub(crate) fn shortened(event: &RunEvent, run: &str, state: Option<&RunState>) -> Map<String, Value> {
    let Ok(Value::Object(mut members)) = serde_json::to_value(event) else { return Map::new() };
    members.shift_remove("version");
    members.shift_remove("run");
    members.shift_remove("cursor");
    let local = event.id.strip_prefix(run).unwrap_or(&event.id);
    members.insert("id".to_owned(), local.into());
    if let Some(state) = state {
        leave_out(&mut members, event, state);
    }
    members
}

/// Replaces the content of a fact by its place in the state, if it is there.
fn leave_out(members: &mut Map<String, Value>, event: &RunEvent, state: &RunState) {
    // The items of nested runs are in no state.
    if !event.path.is_empty() {
        return;
    }
    // The newest items are last.
    let at = |is_it: &dyn Fn(&Item) -> bool| state.items.iter().rposition(|made| is_it(&made.raw));
    let (member, place, content): (&str, Option<usize>, &[&str]) = match &event.kind {
        EventKind::RunStarted { input } => {
            let is_at_end = !input.is_empty() && state.input.ends_with(input);
            (INPUT_FROM, is_at_end.then(|| state.input.len() - input.len()), &["input"])
        }
        EventKind::Message { item, .. }
        | EventKind::Reasoning { item }
        | EventKind::ToolCall { item, .. }
        | EventKind::OtherItem { item } => {
            (ITEM_AT, at(&|made| made == item), &["text", "item", "call_id", "name", "arguments"])
        }
        EventKind::ToolOutput { call_id, output, .. } => {
            (ITEM_AT, at(&|made| is_output(made, call_id, output)), &["call_id", "output"])
        }
        _ => return,
    };
    let Some(place) = place else { return };
    members.retain(|name, _| !content.contains(&&**name));
    members.insert(member.to_owned(), place.into());
}

fn is_output(item: &Item, of: &str, with: &Value) -> bool {
    match item.view() {
        ItemView::FunctionCallOutput { call_id, output } | ItemView::NativeCallOutput { call_id, output } => {
            call_id == of && output == with
        }
        _ => false,
    }
}

/// Returns the facts of a run as events. Leaves out those that are malformed, or whose content is
/// not in the state, and all after [`MAX_RESTORED_BYTES`]: facts may repeat the content of a state
/// many times.
pub(crate) fn restored(facts: &SessionFacts, version: WireVersion, state: Option<&RunState>) -> Vec<RunEvent> {
    let mut left = MAX_RESTORED_BYTES;
    let has_room = |fact: &&Map<String, Value>| match left.checked_sub(content_len(fact, state)) {
        Some(rest) => {
            left = rest;
            true
        }
        None => false,
    };
    facts.facts.iter().take_while(has_room).filter_map(|fact| whole(fact, &facts.run, version, state)).collect()
}

/// Returns the size of the content that a fact takes from the state, in bytes of JSON.
fn content_len(fact: &Map<String, Value>, state: Option<&RunState>) -> usize {
    let place = |name: &str| usize::try_from(fact.get(name)?.as_u64()?).ok();
    let Some(state) = state else { return 0 };
    let input = place(INPUT_FROM).and_then(|from| state.input.get(from..)).unwrap_or_default();
    let item = place(ITEM_AT).and_then(|at| state.items.get(at));
    input.iter().chain(item.map(|item| &item.raw)).map(Item::json_len).sum()
}

/// Restores a fact; `None` if it is malformed, or if its content is not in the state.
pub(crate) fn whole(
    kept: &Map<String, Value>,
    run: &str,
    version: WireVersion,
    state: Option<&RunState>,
) -> Option<RunEvent> {
    let mut members = kept.clone();
    let id = format!("{run}{}", members.get("id")?.as_str()?);
    members.insert("id".to_owned(), id.into());
    members.insert("run".to_owned(), run.into());
    members.insert("version".to_owned(), serde_json::to_value(version).ok()?);
    let index = |at: Value| usize::try_from(at.as_u64()?).ok();
    if let Some(from) = members.shift_remove(INPUT_FROM) {
        let input = state?.input.get(index(from)?..)?;
        members.insert("input".to_owned(), serde_json::to_value(input).ok()?);
    }
    if let Some(at) = members.shift_remove(ITEM_AT) {
        let kind = members.get("kind")?.as_str()?.to_owned();
        put_back(&mut members, &kind, &state?.items.get(index(at)?)?.raw);
    }
    serde_json::from_value(Value::Object(members)).ok()
}

/// Adds the content of a fact of this kind from its item: the inverse of [`leave_out`].
fn put_back(members: &mut Map<String, Value>, kind: &str, item: &Item) {
    let mut put = |name: &str, value: Value| members.insert(name.to_owned(), value);
    match item.view() {
        ItemView::FunctionCallOutput { call_id, output } | ItemView::NativeCallOutput { call_id, output }
            if kind == "tool_output" =>
        {
            put("call_id", call_id.into());
            put("output", output.clone());
            return;
        }
        ItemView::FunctionCall(call) | ItemView::NativeCall { call, .. } => {
            put("call_id", call.call_id.into());
            put("name", call.name.into());
            put("arguments", call.arguments.clone().into_owned().into());
        }
        ItemView::Message { .. } => {
            put("text", item.text().unwrap_or_default().into());
        }
        _ => {}
    }
    put("item", serde_json::to_value(item).unwrap_or_default());
}

#[cfg(test)]
mod tests;
