//! One item of a conversation in Markdown.

use serde_json::Value;
use temporal_agents_core::wire::{Item, ItemView};

use super::text::{code, fenced, plain, quoted};

/// Returns an item of an input as Markdown.
pub(super) fn given(item: &Item) -> String {
    match item.view() {
        ItemView::Message { role, .. } => format!("**{}**\n\n{}", plain(role), message(item)),
        _ => other(item),
    }
}

/// Returns an item of this agent's response, other than a call of the run, as Markdown.
pub(super) fn answered(agent: &str, item: &Item) -> String {
    match item.view() {
        ItemView::Message { .. } => format!("**{}**\n\n{}", plain(agent), message(item)),
        _ => other(item),
    }
}

fn other(item: &Item) -> String {
    match item.view() {
        ItemView::FunctionCallOutput { call_id, output } | ItemView::NativeCallOutput { call_id, output } => {
            format!("**output of call** {}\n\n{}", code(call_id), super::text::value(output))
        }
        ItemView::FunctionCall(call) | ItemView::NativeCall { call, .. } => {
            format!("**call of** {} {}\n\n", code(call.name), code(&call.arguments))
        }
        ItemView::Reasoning => match summary(item) {
            Some(summary) => format!("**reasoning**\n\n{}", quoted(&summary)),
            None => "**reasoning** *(without a summary)*\n\n".to_owned(),
        },
        _ => format!("**{}**\n\n{}", plain(item.kind()), fenced(&item.to_value())),
    }
}

fn message(item: &Item) -> String {
    if let Some(refusal) = item.refusal() {
        return format!("*refuses:*\n\n{}", quoted(&refusal));
    }
    let is_text = match item.get("content") {
        Some(Value::Array(parts)) => {
            parts.iter().all(|part| matches!(part["type"].as_str(), Some("output_text" | "input_text" | "text")))
        }
        _ => true,
    };
    match item.text() {
        Some(text) if is_text => quoted(&text),
        _ => fenced(item.get("content").unwrap_or(&Value::Null)),
    }
}

fn summary(item: &Item) -> Option<String> {
    let parts = item.get("summary")?.as_array()?;
    let texts: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}
