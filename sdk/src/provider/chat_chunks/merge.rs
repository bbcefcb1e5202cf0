//! A part of a JSON value, added to the value.

use serde_json::{Map, Value, json};

/// Members whose strings are whole in every part, and are replaced instead of joined.
const WHOLE: [&str; 9] = ["type", "index", "id", "role", "name", "format", "object", "status", "finish_reason"];

/// The number of elements of a list among which that of an index is looked for, the latest ones. A
/// list may have any length, and servers have one or two elements in progress.
const LATEST: usize = 64;

/// Adds a part to a value; returns the approximate number of bytes that it adds. Null adds nothing,
/// strings are joined, objects member by member, and lists of objects by their `index`; objects
/// without an index are appended. Everything else is replaced.
pub(super) fn merge(into: &mut Value, part: Value) -> usize {
    match (into, part) {
        (_, Value::Null) => 0,
        (Value::String(text), Value::String(more)) => {
            text.push_str(&more);
            more.len()
        }
        (Value::Array(list), Value::Array(more)) => more.into_iter().map(|part| merge_element(list, part)).sum(),
        (Value::Object(object), Value::Object(more)) => {
            more.into_iter().map(|(name, part)| merge_member(object, name, part)).sum()
        }
        (into, part) => {
            let added = size(&part);
            *into = part;
            added
        }
    }
}

/// Adds a part to a member of an object; returns the approximate number of bytes that it adds.
/// Later parts may repeat a member as an empty string, or as null.
pub(super) fn merge_member(object: &mut Map<String, Value>, name: String, part: Value) -> usize {
    let is_known = object.contains_key(&name);
    if part.is_null() || is_known && part == "" {
        return 0;
    }
    if !is_known || WHOLE.contains(&&*name) {
        let added = size(&part);
        object.insert(name, part);
        return added;
    }
    object.get_mut(&name).map_or(0, |known| merge(known, part))
}

fn merge_element(list: &mut Vec<Value>, part: Value) -> usize {
    let index = part["index"].as_u64();
    let mut latest = list.iter_mut().rev().take(LATEST);
    let known = latest.find(|known| index.is_some() && known["index"].as_u64() == index);
    if let Some(known) = known {
        return merge(known, part);
    }
    let added = size(&part);
    list.push(part);
    added
}

/// Adds a part to the content of a message: text, or a list of parts, of which neighbours of one
/// type are one part.
pub(super) fn merge_content(into: &mut Value, part: Value) -> usize {
    match part {
        Value::Array(more) if !more.is_empty() => {
            let mut parts = match into.take() {
                Value::Array(parts) => parts,
                Value::String(text) if !text.is_empty() => vec![text_part(text)],
                _ => Vec::new(),
            };
            let added = more.into_iter().map(|part| merge_neighbour(&mut parts, part)).sum();
            *into = Value::Array(parts);
            added
        }
        Value::Array(_) => 0,
        Value::String(text) => match into {
            Value::Array(_) if text.is_empty() => 0,
            Value::Array(parts) => merge_neighbour(parts, text_part(text)),
            into => merge(into, Value::String(text)),
        },
        part => merge(into, part),
    }
}

fn text_part(text: String) -> Value {
    json!({"type": "text", "text": text})
}

/// Adds a part of a list in which neighbours of one type are one value.
fn merge_neighbour(parts: &mut Vec<Value>, part: Value) -> usize {
    match (parts.last_mut(), part) {
        (Some(Value::Object(last)), Value::Object(part)) if last.get("type") == part.get("type") => {
            let mut added = 0;
            for (name, value) in part {
                match (last.get_mut(&name), value) {
                    (Some(Value::Array(inner)), Value::Array(more)) => {
                        added += more.into_iter().map(|element| merge_neighbour(inner, element)).sum::<usize>();
                    }
                    (Some(_), _) if name == "type" => {}
                    (Some(known), value) => added += merge(known, value),
                    (None, value) => {
                        added += size(&value);
                        last.insert(name, value);
                    }
                }
            }
            added
        }
        (_, part) => {
            let added = size(&part);
            parts.push(part);
            added
        }
    }
}

/// Returns the approximate number of bytes of a value.
pub(super) fn size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
        Value::String(text) => 2 + text.len(),
        Value::Array(list) => 2 + list.iter().map(size).sum::<usize>(),
        Value::Object(object) => 2 + object.iter().map(|(name, value)| name.len() + 4 + size(value)).sum::<usize>(),
    }
}

/// Returns the number of values in a value, itself included.
pub(super) fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(list) => list.iter().map(count).sum::<usize>(),
        Value::Object(object) => object.values().map(count).sum(),
        _ => 0,
    }
}
