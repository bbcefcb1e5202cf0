//! Removes blank texts, which some APIs refuse.
//!
//! # Source
//! "text content blocks must contain non-whitespace text" (Anthropic), "contents.parts must not be
//! empty" (Google), "expected a string, got null" (Chat Completions).

use serde_json::{Value, json};
use temporal_agents_core::wire::{Item, ItemView};

use crate::provider::data::PROVIDER_DATA;

/// The text of a user's message that has none.
const NO_TEXT: &str = "(no text)";
/// The output of a tool that returned nothing.
const NO_OUTPUT: &str = "(no output)";

/// Returns the items without blank texts.
pub(super) fn without_blanks(items: Vec<Item>) -> Vec<Item> {
    items.into_iter().filter_map(without_blank).collect()
}

/// Returns the items with outputs of tools that are not empty.
pub(super) fn fill_empty_outputs(items: Vec<Item>) -> Vec<Item> {
    let is_empty = |item: &Item| match item.view() {
        ItemView::FunctionCallOutput { output, .. } | ItemView::NativeCallOutput { output, .. } => match output {
            Value::String(text) => text.trim().is_empty(),
            Value::Array(parts) => parts.iter().all(is_blank),
            _ => false,
        },
        _ => false,
    };
    let with_output = |item: Item| if is_empty(&item) { item.with("output", NO_OUTPUT.into()) } else { item };
    items.into_iter().map(with_output).collect()
}

/// Returns an item without blank texts; `None` if nothing is left of it.
fn without_blank(item: Item) -> Option<Item> {
    match item.view() {
        ItemView::Message { role, content } => {
            if content.as_array().is_some_and(|parts| !parts.iter().any(is_blank) && !parts.is_empty())
                || content.as_str().is_some_and(|text| !text.trim().is_empty())
            {
                return Some(item);
            }
            let parts: Vec<Value> = content
                .as_array()
                .map(|parts| parts.iter().filter(|part| !is_blank(part)).cloned().collect())
                .unwrap_or_default();
            if !parts.is_empty() {
                return Some(item.with("content", parts.into()));
            }
            match role {
                "user" => Some(item.with("content", NO_TEXT.into())),
                // What only the server understands is kept without the text.
                "assistant" if item.get(PROVIDER_DATA).is_some() => {
                    let reasoning = Item::from(serde_json::Map::from_iter([
                        ("type".to_owned(), json!("reasoning")),
                        ("summary".to_owned(), json!([])),
                    ]));
                    Some(reasoning.with(PROVIDER_DATA, item.get(PROVIDER_DATA).cloned().unwrap_or_default()))
                }
                _ => None,
            }
        }
        ItemView::FunctionCallOutput { output: Value::Array(parts), .. }
            if parts.is_empty() || parts.iter().any(is_blank) =>
        {
            let parts: Vec<Value> = parts.iter().filter(|part| !is_blank(part)).cloned().collect();
            let output = if parts.is_empty() { json!("") } else { parts.into() };
            Some(item.with("output", output))
        }
        _ => Some(item),
    }
}

/// Returns `true` for a text or a refusal without a non-white character.
fn is_blank(part: &Value) -> bool {
    let text = match part["type"].as_str() {
        Some("input_text" | "output_text" | "text") => &part["text"],
        Some("refusal") => &part["refusal"],
        _ => return false,
    };
    text.as_str().is_none_or(|text| text.trim().is_empty())
}
