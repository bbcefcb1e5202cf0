//! Summary messages of the conversation so far, for the agent that receives a handoff.
//!
//! The input history, function calls with their outputs, reasoning, and the assistant's messages
//! before the turn become numbered records in assistant messages. The other items stay verbatim, at
//! their position: among them all messages of the turn that hands off. The records of an earlier
//! summary are extracted from it, so that summaries do not nest.
//!
//! # Source
//! `nest_handoff_history` of the OpenAI Agents SDK. The summary reaches the model, so its text is
//! identical to that of the reference.

use serde::Serialize;
use serde_json::{Map, Value};

use super::handoff_filter::{Forwarded, HandoffInputData};
use crate::wire::{Item, NewItem, NewItemKind, item::IS_ERROR};

const PREAMBLE: &str = "For context, here is the conversation so far between the user and the previous agent:";
const LEGACY_PREAMBLE: &str = "For context, here is the conversation so far:";
const OPEN: &str = "<CONVERSATION HISTORY>";
const CLOSE: &str = "</CONVERSATION HISTORY>";
const ROLES: [&str; 4] = ["user", "assistant", "system", "developer"];

/// Returns the conversation with everything except the messages of this turn in summary messages.
pub fn nest_history(data: HandoffInputData) -> HandoffInputData {
    let mut history = Vec::new();
    let mut pending = flattened(&data.input_history);
    let mut forwarded = Forwarded::default();
    let pre = data.pre_handoff_items.iter().enumerate().map(|(place, item)| (Part::Earlier(place), item));
    let new = data.new_items.iter().enumerate().map(|(place, item)| (Part::New(place), item));
    for (part, item) in pre.chain(new).filter(|(_, item)| item.kind != NewItemKind::ToolApproval) {
        if !stays_verbatim(item, part) {
            pending.push(item.raw.clone());
            continue;
        }
        if !pending.is_empty() || history.is_empty() {
            history.push(summary(&std::mem::take(&mut pending)));
        }
        history.push(item.raw.clone());
        match part {
            Part::Earlier(place) => forwarded.earlier.push(place),
            Part::New(place) => forwarded.new.push(place),
        }
    }
    if !pending.is_empty() || history.is_empty() {
        history.push(summary(&pending));
    }
    nested(data, history, forwarded)
}

/// Returns the conversation with the history that this function makes of the whole transcript.
pub fn nest_history_with(data: HandoffInputData, map: impl FnOnce(Vec<Item>) -> Vec<Item>) -> HandoffInputData {
    let mut transcript = flattened(&data.input_history);
    let items = data.pre_handoff_items.iter().chain(&data.new_items);
    transcript.extend(items.filter(|item| item.kind != NewItemKind::ToolApproval).map(|item| item.raw.clone()));
    let history = map(transcript);
    nested(data, history, Forwarded::default())
}

fn nested(data: HandoffInputData, input_history: Vec<Item>, forwarded: Forwarded) -> HandoffInputData {
    let mut nested = HandoffInputData::new(input_history, Vec::new(), data.new_items);
    nested.input_items = Some(Vec::new());
    nested.forwarded = forwarded;
    nested
}

#[derive(Clone, Copy)]
enum Part {
    Earlier(usize),
    New(usize),
}

fn stays_verbatim(item: &NewItem, part: Part) -> bool {
    let raw = &item.raw;
    if let Some(role) = raw.get("role").and_then(Value::as_str).filter(|role| !role.is_empty()) {
        // Messages of this turn stay, whatever their role; earlier ones only if they are not the
        // assistant's.
        return matches!(part, Part::New(_)) || role != "assistant";
    }
    !matches!(raw.kind(), "function_call" | "function_call_output" | "reasoning" | "program" | "program_output")
}

fn flattened(history: &[Item]) -> Vec<Item> {
    history.iter().flat_map(|item| parse_summary(item).unwrap_or_else(|| vec![item.clone()])).collect()
}

fn summary(records: &[Item]) -> Item {
    let lines = match records {
        [] => "(no previous turns recorded)".to_owned(),
        records => {
            let numbered = records.iter().enumerate().map(|(place, item)| format!("{}. {}", place + 1, record(item)));
            numbered.collect::<Vec<_>>().join("\n")
        }
    };
    Item::message("assistant", format!("{PREAMBLE}\n{OPEN}\n{lines}\n{CLOSE}"))
}

/// Returns one record: `role: content` if the content is one line, otherwise the JSON of the item.
fn record(item: &Item) -> String {
    let item = item.without("created_by");
    let text = match item.get("content") {
        None | Some(Value::Null) => Some(""),
        Some(Value::String(text)) if !text.contains(['\n', '\r']) => Some(&**text),
        Some(_) => None,
    };
    if let (Some(role), Some(text)) = (item.get("role").and_then(Value::as_str), text) {
        return match item.get("name").and_then(Value::as_str).filter(|name| !name.is_empty()) {
            Some(name) => format!("{role} ({name}): {text}"),
            None => format!("{role}: {text}"),
        };
    }
    spaced_json(item.without(IS_ERROR).without("provider_data").as_object())
}

/// Serializes to JSON with a space after `,` and `:`, as the reference does.
fn spaced_json(object: &Map<String, Value>) -> String {
    let mut text = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut text, Spaced);
    object.serialize(&mut serializer).expect("JSON can be written to memory");
    String::from_utf8(text).expect("JSON is UTF-8")
}

struct Spaced;

impl serde_json::ser::Formatter for Spaced {
    fn begin_array_value<W: ?Sized + std::io::Write>(&mut self, writer: &mut W, first: bool) -> std::io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + std::io::Write>(&mut self, writer: &mut W, first: bool) -> std::io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + std::io::Write>(&mut self, writer: &mut W) -> std::io::Result<()> {
        writer.write_all(b": ")
    }
}

/// Returns the records of a summary message; `None` if the item is not a summary message.
fn parse_summary(item: &Item) -> Option<Vec<Item>> {
    let content = item.get("content")?.as_str().filter(|_| item.get("role").is_some_and(|role| role == "assistant"))?;
    let (preamble, rest) = content.split_once('\n')?;
    if preamble != PREAMBLE && preamble != LEGACY_PREAMBLE {
        return None;
    }
    let body = rest.strip_prefix(OPEN)?.strip_prefix('\n')?.strip_suffix(CLOSE)?.strip_suffix('\n')?;
    let mut groups: Vec<String> = Vec::new();
    let mut is_numbered = false;
    for line in lines(body).filter(|line| !line.trim().is_empty()) {
        // A line without a number continues the numbered record above it.
        if has_number(line) || !is_numbered {
            is_numbered = has_number(line);
            groups.push(line.to_owned());
        } else if let Some(group) = groups.last_mut() {
            group.push('\n');
            group.push_str(line.trim_end());
        }
    }
    Some(groups.iter().filter_map(|group| parsed(group)).collect())
}

/// Returns the lines of a string, split at the line ends that the reference recognizes.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let ends = ['\n', '\r', '\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}', '\u{2029}'];
    text.split(ends)
}

fn has_number(line: &str) -> bool {
    line.trim_start().split_once('.').is_some_and(|(number, _)| is_number(number))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|digit| digit.is_ascii_digit())
}

fn parsed(group: &str) -> Option<Item> {
    let group = group.trim();
    let text = match group.split_once('.') {
        Some((number, rest)) if is_number(number) => rest.trim_start(),
        _ => group,
    };
    if let Ok(Value::Object(object)) = serde_json::from_str(text) {
        return Some(Item::from(object).without("provider_data"));
    }
    let Some((speaker, content)) = text.split_once(':') else {
        let (role, name) = parse_speaker(text);
        return ROLES.contains(&role).then(|| message(role, name, ""));
    };
    let speaker = speaker.trim();
    if speaker.is_empty() {
        return None;
    }
    let (role, name) = parse_speaker(speaker);
    let content = content.trim();
    match serde_json::from_str(content) {
        Ok(Value::Object(object)) if !ROLES.contains(&role) => Some(Item::from(object).with("type", role.into())),
        _ => Some(message(if role.is_empty() { "developer" } else { role }, name, content)),
    }
}

/// Splits `role (name)` or `role` into role and name.
fn parse_speaker(text: &str) -> (&str, Option<&str>) {
    let named = || text.strip_suffix(')')?.split_once('(');
    match named() {
        Some((role, name)) if !name.trim().is_empty() => (role.trim(), Some(name.trim())),
        _ => (text.trim(), None),
    }
}

fn message(role: &str, name: Option<&str>, content: &str) -> Item {
    let message = Item::message(role, content);
    name.map_or(message.clone(), |name| message.with("name", name.into()))
}

#[cfg(test)]
mod tests;
