//! Items that the answers of several APIs become.

use serde_json::{Map, Value, json};
use temporal_agents_core::wire::{Item, ItemView};

/// Returns `true` if an item is a call: of a tool, a handoff or the provider itself.
pub(super) fn is_call(item: &Item) -> bool {
    !matches!(item.view(), ItemView::Message { .. } | ItemView::Reasoning)
}

/// Returns `true` if an output holds no call, no refusal and no text but white space.
pub(super) fn says_nothing(output: &[Item]) -> bool {
    let is_silent = |item: &Item| match item.view() {
        ItemView::Reasoning => true,
        ItemView::Message { .. } => item.is_blank_message(),
        _ => false,
    };
    output.iter().all(is_silent)
}

/// Returns the items with a refusal in place of their messages.
pub(super) fn with_refusal(mut output: Vec<Item>, refusal: &str) -> Vec<Item> {
    output.retain(|item| item.kind() != "message");
    output.push(assistant_message(vec![json!({"type": "refusal", "refusal": refusal})]));
    output
}

/// Returns a message of the model with these parts.
pub(super) fn assistant_message(content: Vec<Value>) -> Item {
    Item::from(Map::from_iter([
        ("type".to_owned(), "message".into()),
        ("role".to_owned(), "assistant".into()),
        ("content".to_owned(), content.into()),
    ]))
}
