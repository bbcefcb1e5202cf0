//! Calls with their outputs, and arguments that are JSON objects.
//!
//! # Source
//! "No tool output found for function call", "No tool call found for function call output" (OpenAI);
//! "`tool_use` ids were found without `tool_result` blocks immediately after" (Anthropic); and
//! arguments that are not JSON (vLLM, SGLang, llama.cpp).

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::Value;
use temporal_agents_core::{
    tool::name::{is_function_name, to_function_name},
    wire::{Item, ItemView},
};

use crate::provider::function_shape::arguments_object;

/// Returns the items without calls that have no output and outputs that have no call, and the
/// places among these before which one was removed.
///
/// A call is answered by the first output of its id after it, so an id that occurs again is another
/// call.
pub(super) fn pair_calls(items: Vec<Item>, is_whole: bool) -> (Vec<Item>, BTreeSet<usize>) {
    let mut open: BTreeMap<(String, &str), VecDeque<usize>> = BTreeMap::new();
    let mut keep = vec![true; items.len()];
    // The place of the last message of the user.
    let mut turn = 0;
    for (place, item) in items.iter().enumerate() {
        let id = item.call_id().unwrap_or_default().to_owned();
        if let Some(output) = item.output_kind() {
            keep[place] = false;
            let calls = open.entry((id, output)).or_default();
            // A call of an earlier turn that has no output so far gets none.
            if calls.front().is_some_and(|first| *first < turn) {
                calls.clear();
            }
            calls.push_back(place);
        } else if let Some(output) = item.as_output_kind() {
            match open.get_mut(&(id, output)).and_then(VecDeque::pop_front) {
                Some(call) => keep[call] = true,
                // The provider may have the call of an output that begins a request.
                None => keep[place] = !is_whole,
            }
        } else if matches!(item.view(), ItemView::Message { role: "user", .. }) {
            turn = place;
        }
    }
    let mut kept = Vec::with_capacity(items.len());
    let mut removed = BTreeSet::new();
    for (item, keep) in items.into_iter().zip(keep) {
        if keep {
            kept.push(with_valid_call(item));
        } else {
            removed.insert(kept.len());
        }
    }
    (kept, removed)
}

/// Returns a function call with a valid name and with arguments that are a JSON object.
fn with_valid_call(item: Item) -> Item {
    let ItemView::FunctionCall(call) = item.view() else { return item };
    let arguments = object_arguments(&call.arguments);
    let name = (!is_function_name(call.name)).then(|| to_function_name(call.name));
    let item = match arguments {
        Some(arguments) => item.with("arguments", arguments.into()),
        None if item.get("arguments").is_some_and(Value::is_string) => item.clone(),
        // Some servers answer with an object, which no API takes back.
        None => item.with("arguments", call.arguments.into_owned().into()),
    };
    match name {
        Some(name) => item.with("name", name.into()),
        None => item,
    }
}

/// Returns arguments that are a JSON object, in place of others. `None` if they already are one.
fn object_arguments(arguments: &str) -> Option<String> {
    let is_object = serde_json::from_str::<Value>(arguments).is_ok_and(|arguments| arguments.is_object());
    (!is_object).then(|| Value::Object(arguments_object(arguments)).to_string())
}
