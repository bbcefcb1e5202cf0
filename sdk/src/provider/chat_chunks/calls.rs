//! The tool calls of a streamed message.
//!
//! A part belongs to the call of its `index`. Servers that leave the index out send whole calls, or
//! a call's parts in a row; servers that number every call 0 tell them apart by id and name. An id
//! alone does not begin a call: some servers invent a new one for every part.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::merge::merge_member;

/// The calls so far.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// The calls in their order.
    by_key: BTreeMap<u64, Map<String, Value>>,
    /// The key of the latest call with an index of the server.
    by_index: BTreeMap<u64, u64>,
    by_id: BTreeMap<String, u64>,
    /// Number of the first calls that have all begun: those with the keys below it.
    complete: u64,
    /// The key of the call that the latest part belongs to.
    latest: Option<u64>,
}

/// A part of a call, for its delta.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CallPart {
    /// Number of calls before this one; `None` while calls before it may still begin.
    pub(super) number: Option<u32>,
    pub(super) id: Option<String>,
    pub(super) name: Option<String>,
    /// The part of the arguments.
    pub(super) delta: String,
}

impl Calls {
    /// Adds a part.
    pub(super) fn add(&mut self, mut part: Map<String, Value>) -> CallPart {
        let key = self.key(&part);
        self.latest = Some(key);
        part.shift_remove("index");
        let delta = arguments(&part);
        let call = self.by_key.entry(key).or_default();
        add_part(call, part);
        let (id, name) = (text(call, "id").map(str::to_owned), name(call).map(str::to_owned));
        if let Some(id) = &id {
            self.by_id.entry(id.clone()).or_insert(key);
        }
        while self.by_key.contains_key(&self.complete) {
            self.complete += 1;
        }
        let number = u32::try_from(key).ok().filter(|_| key < self.complete);
        CallPart { number, id, name, delta }
    }

    /// Returns the number of calls.
    pub(super) fn len(&self) -> usize {
        self.by_key.len()
    }

    /// Returns the calls as the list in a message; `None` if there are none.
    pub(super) fn into_value(self) -> Option<Value> {
        (!self.by_key.is_empty()).then(|| self.by_key.into_values().map(Value::Object).collect())
    }

    /// Returns the key of the call that a part belongs to.
    fn key(&mut self, part: &Map<String, Value>) -> u64 {
        let next = self.by_key.last_key_value().map_or(0, |(last, _)| last.saturating_add(1));
        let Some(index) = part.get("index").and_then(Value::as_u64) else {
            return self.key_without_index(part).unwrap_or(next);
        };
        let known = self.by_index.get(&index).copied();
        let key = match known {
            Some(known) if self.is_another(known, part) => next,
            Some(known) => known,
            None if self.by_key.contains_key(&index) => next,
            None => index,
        };
        self.by_index.insert(index, key);
        key
    }

    /// Returns the key of the call that a part without an index belongs to; `None` if it begins
    /// one.
    fn key_without_index(&self, part: &Map<String, Value>) -> Option<u64> {
        match text(part, "id").and_then(|id| self.by_id.get(id)) {
            Some(key) => Some(*key),
            None if name(part).is_some() => None,
            None => self.latest,
        }
    }

    /// Returns `true` if a part with the index of a call begins another one.
    fn is_another(&self, key: u64, part: &Map<String, Value>) -> bool {
        let Some(call) = self.by_key.get(&key) else { return false };
        let (known, id) = (text(call, "id"), text(part, "id"));
        name(part).is_some() && name(call).is_some() && id.is_some() && known.is_some() && id != known
    }
}

/// Adds a part to its call. The first id counts.
fn add_part(call: &mut Map<String, Value>, part: Map<String, Value>) {
    for (member, value) in part {
        match (&*member, value) {
            (_, Value::Null) => {}
            ("id", Value::String(_)) if text(call, "id").is_some() => {}
            ("function" | "custom", Value::Object(function)) => {
                let known = call.entry(member).or_insert_with(|| Map::new().into());
                if let Value::Object(known) = known {
                    add_function(known, function);
                }
            }
            (_, value) => drop(merge_member(call, member, value)),
        }
    }
}

/// Adds a part of a function: its name, which may be repeated, and its arguments.
fn add_function(function: &mut Map<String, Value>, part: Map<String, Value>) {
    for (member, value) in part {
        if member == "name" {
            let known = function.entry(member).or_insert(Value::Null);
            let is_new = value != "" && value != *known && !value.is_null();
            match known {
                // A name that arrives in parts.
                Value::String(known) if is_new => known.push_str(value.as_str().unwrap_or_default()),
                known if is_new => *known = value,
                _ => {}
            }
        } else {
            merge_member(function, member, value);
        }
    }
}

/// Returns the part of the arguments of a function, or of the input of a custom tool.
fn arguments(part: &Map<String, Value>) -> String {
    let arguments = part.get("function").map(|function| &function["arguments"]);
    match arguments.or_else(|| part.get("custom").map(|custom| &custom["input"])) {
        Some(Value::String(text)) => text.clone(),
        None | Some(Value::Null) => String::new(),
        Some(whole) => whole.to_string(),
    }
}

fn name(call: &Map<String, Value>) -> Option<&str> {
    ["function", "custom"].into_iter().find_map(|kind| text(call.get(kind)?.as_object()?, "name"))
}

/// Returns a member that is a string, and not empty.
fn text<'a>(object: &'a Map<String, Value>, member: &str) -> Option<&'a str> {
    object.get(member).and_then(Value::as_str).filter(|text| !text.is_empty())
}
