//! The identity of tool calls: an id names one call.
//!
//! The same call twice in a response runs once; a call that an earlier turn completed is dropped; the same id with other
//! content is an error of the model. Arguments compare as JSON.

use serde_json::Value;

use crate::wire::{FunctionCall, Item, ItemView, RunState};

/// What a call is to the calls before it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Identity {
    /// It is new.
    New,
    /// It was made before, word for word.
    Repeated,
}

/// Compares a call with the calls of this response so far and with those of earlier turns.
///
/// # Errors
/// The reference's text when the id is missing or names another call.
pub(super) fn identify(state: &RunState, response: &[Item], call: &FunctionCall<'_>) -> Result<Identity, &'static str> {
    if call.call_id.is_empty() {
        return Err("Tool invocations require a non-empty string call ID before execution.");
    }
    let same_id = |item: &Item| match item.view() {
        ItemView::FunctionCall(other) if other.call_id == call.call_id => Some(is_same(&other, call)),
        _ => None,
    };
    match response.iter().find_map(same_id) {
        Some(true) => return Ok(Identity::Repeated),
        Some(false) => {
            return Err("Model reused a tool call ID for a different invocation in one response. \
                        Use a unique call ID for each tool invocation.");
        }
        None => {}
    }
    match state.items.iter().rev().find_map(|item| same_id(&item.raw)) {
        Some(true) => Ok(Identity::Repeated),
        Some(false) => Err("Model reused a completed tool call ID for a different invocation. \
                            Use a unique call ID for each tool invocation."),
        None => Ok(Identity::New),
    }
}

fn is_same(one: &FunctionCall<'_>, other: &FunctionCall<'_>) -> bool {
    let arguments = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_else(|_| Value::String(text.to_owned()));
    one.name == other.name
        && one.namespace == other.namespace
        && (one.arguments == other.arguments || arguments(&one.arguments) == arguments(&other.arguments))
}
