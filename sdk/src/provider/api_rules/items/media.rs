//! Images and files that tools return.
//!
//! A tool has acted when its image arrives, so the run must not end for it. Where an API takes no
//! image in the output of a tool, the output says so in text, and the image follows in a message of
//! the user. Where it takes none there either, only the text remains.

use serde_json::{Map, Value, json};
use temporal_agents_core::wire::{Item, ItemView};

use super::super::{families::ModelFamily, rules::MediaRules};
use crate::provider::data_url::data_url;

/// Returns the items with the images and files of tools where the API takes them.
pub(super) fn rewrite(rules: MediaRules, family: &ModelFamily, items: Vec<Item>) -> Vec<Item> {
    let mut done = Vec::with_capacity(items.len());
    // Of the outputs since the last call, because nothing may be between outputs.
    let mut shown: Vec<Value> = Vec::new();
    for item in items {
        let (ItemView::FunctionCallOutput { call_id, .. } | ItemView::NativeCallOutput { call_id, .. }) = item.view()
        else {
            end_outputs(&mut done, &mut shown);
            done.push(item);
            continue;
        };
        let call_id = call_id.to_owned();
        let item = as_function_output(item);
        let parts = parts_of(&item);
        if parts.iter().all(|part| is_accepted(rules, part)) {
            done.push(item);
            continue;
        }
        let mut texts = Vec::new();
        for part in parts {
            if is_accepted(rules, &part) {
                texts.push(part);
            } else if !family.refuses_user_after_result && is_shown(rules, &part) {
                let place = shown.iter().filter(|part| part["type"] != "input_text").count() + 1;
                shown.push(text(&format!("Attachment {place}, of the tool result of call {call_id}:")));
                shown.push(part.clone());
                texts.push(text(&format!("[{}: attachment {place} of the next message]", part_name(&part))));
            } else {
                texts.push(text(&format!("[{} that cannot be shown to this model]", part_name(&part))));
            }
        }
        done.push(item.with("output", texts.into()));
    }
    end_outputs(&mut done, &mut shown);
    done
}

/// Adds the message with what outputs could not hold.
fn end_outputs(done: &mut Vec<Item>, shown: &mut Vec<Value>) {
    if shown.is_empty() {
        return;
    }
    let message = json!({"type": "message", "role": "user", "content": std::mem::take(shown)});
    if let Value::Object(message) = message {
        done.push(Item::from(message));
    }
}

/// Returns the output of a function in place of the output of a shell, a computer or a custom tool:
/// messages have functions only.
fn as_function_output(item: Item) -> Item {
    let ItemView::NativeCallOutput { call_id, output } = item.view() else { return item };
    let output = match output {
        Value::String(_) => output.clone(),
        Value::Array(parts) if are_parts(parts) => output.clone(),
        Value::Object(screen) if screen.get("type").is_some_and(|kind| kind == "computer_screenshot") => {
            let mut part: Map<String, Value> = screen.clone();
            part.insert("type".to_owned(), "input_image".into());
            json!([part])
        }
        other => other.to_string().into(),
    };
    Item::function_call_output(call_id, output)
}

/// Returns the parts of an output: none if it is a text or another value.
fn parts_of(item: &Item) -> Vec<Value> {
    match item.get("output") {
        Some(Value::Array(parts)) if are_parts(parts) => parts.clone(),
        _ => Vec::new(),
    }
}

fn are_parts(parts: &[Value]) -> bool {
    parts.iter().all(|part| part["type"].is_string())
}

/// Returns `true` if the output of a tool may have this part.
fn is_accepted(rules: MediaRules, part: &Value) -> bool {
    match part["type"].as_str() {
        Some("input_text" | "output_text" | "text") => true,
        Some("input_image") => rules.images_in_results && is_shown(rules, part),
        _ => false,
    }
}

/// Returns `true` if a message of the user may have this part.
fn is_shown(rules: MediaRules, part: &Value) -> bool {
    match part["type"].as_str() {
        Some("input_image") => part["image_url"].as_str().is_some_and(|url| match data_url(url) {
            Some((media_type, _)) => is_one_of(media_type, rules.image_types),
            None => rules.image_addresses,
        }),
        Some("input_file") => {
            let data = part["file_data"].as_str().and_then(data_url);
            data.is_some_and(|(media_type, _)| rules.file_data && is_one_of(media_type, rules.file_types))
                || part["file_url"].is_string() && rules.file_addresses
                || part["file_id"].is_string() && rules.file_ids && part["file_data"].is_null()
        }
        _ => false,
    }
}

/// Returns `true` if a media type begins with one of these, or if there are none.
fn is_one_of(media_type: &str, types: &[&str]) -> bool {
    types.is_empty() || types.iter().any(|name| media_type.starts_with(name))
}

/// Returns what a part is, for the text that stands for it.
fn part_name(part: &Value) -> String {
    match part["type"].as_str() {
        Some("input_image") => match part["image_url"].as_str() {
            Some(url) if !url.starts_with("data:") => format!("an image at {url}"),
            _ => "an image".to_owned(),
        },
        Some("input_file") => match part["filename"].as_str() {
            Some(name) => format!("a file {name:?}"),
            None => "a file".to_owned(),
        },
        kind => format!("content of kind {}", kind.unwrap_or("none")),
    }
}

fn text(text: &str) -> Value {
    json!({"type": "input_text", "text": text})
}
