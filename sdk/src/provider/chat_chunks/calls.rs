//! The tool calls of a streamed message.
//!
//! A part belongs to the call of its `index`. Servers that leave the index out send whole calls, or
//! a call's parts in a row; servers that number every call 0 tell them apart by id and name. An id
//! alone does not begin a call: some servers invent a new one for every part. Nor does a name: some
//! servers repeat it with every part. But nothing can follow arguments that are a whole object, so a
//! name with more arguments then begins a call, whatever its id (Google sends `""`, llama.cpp one
//! constant).

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
    /// The key of the latest call with an id.
    by_id: BTreeMap<String, u64>,
    /// How far the arguments of each call have arrived, by key.
    arguments: BTreeMap<u64, ArgumentsScan>,
    /// Number of the first calls that have all begun: those with the keys below it.
    complete: u64,
    /// The key of the call that the latest part belongs to.
    latest: Option<u64>,
}

/// A part of a call, for its delta.
#[derive(Debug, Default, PartialEq, Eq)]
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
        if self.is_repetition(&part) {
            return CallPart::default();
        }
        let key = self.key(&part);
        self.latest = Some(key);
        part.shift_remove("index");
        let delta = arguments(&part);
        self.arguments.entry(key).or_default().read(&delta);
        let call = self.by_key.entry(key).or_default();
        add_part(call, part);
        let (id, name) = (text(call, "id").map(str::to_owned), name(call).map(str::to_owned));
        if let Some(id) = &id {
            self.by_id.insert(id.clone(), key);
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
            Some(key) => (!self.is_another(*key, part)).then_some(*key),
            None if name(part).is_some() => None,
            None => self.latest,
        }
    }

    /// Returns `true` if a part with the index or the id of a call begins another one.
    fn is_another(&self, key: u64, part: &Map<String, Value>) -> bool {
        let Some(call) = self.by_key.get(&key) else { return false };
        let (known, id) = (text(call, "id"), text(part, "id"));
        if name(part).is_none() || name(call).is_none() {
            return false;
        }
        let has_another_id = id.is_some() && known.is_some() && id != known;
        let is_whole = || self.arguments.get(&key).is_some_and(|scan| scan.is_whole);
        let has_another_name = || name(part) != name(call);
        has_another_id || (is_whole() && (has_another_name() || !arguments(part).trim().is_empty()))
    }

    /// Returns `true` if a part repeats a call that has arrived in several parts, as some servers do
    /// at its end. Two calls that each arrive whole are two, even if they are equal.
    fn is_repetition(&self, part: &Map<String, Value>) -> bool {
        let index = part.get("index").and_then(Value::as_u64);
        let key = index.and_then(|index| self.by_index.get(&index));
        let key = key.or_else(|| text(part, "id").and_then(|id| self.by_id.get(id)));
        let Some((call, scan)) = key.and_then(|key| Some((self.by_key.get(key)?, self.arguments.get(key)?))) else {
            return false;
        };
        let id = text(part, "id");
        let is_same = name(part) == name(call)
            && arguments_text(part) == arguments_text(call)
            && (id.is_none() || id == text(call, "id"));
        scan.parts > 1 && scan.is_whole && name(part).is_some() && is_same
    }
}

/// A scan of arguments that arrive in parts: whether they are a whole object by now.
#[derive(Debug, Default)]
struct ArgumentsScan {
    /// Number of parts that are not empty.
    parts: u32,
    depth: usize,
    in_string: bool,
    is_escaped: bool,
    is_whole: bool,
}

impl ArgumentsScan {
    fn read(&mut self, part: &str) {
        self.parts = self.parts.saturating_add(u32::from(!part.is_empty()));
        for byte in part.bytes() {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' if self.in_string => self.is_escaped = true,
                b'"' => self.in_string = !self.in_string,
                b'{' | b'[' if !self.in_string => self.depth += 1,
                b'}' | b']' if !self.in_string => {
                    self.depth = self.depth.saturating_sub(1);
                    self.is_whole = self.depth == 0;
                }
                _ => {}
            }
        }
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

/// Returns the arguments of a function, if they are a text.
fn arguments_text(call: &Map<String, Value>) -> Option<&str> {
    call.get("function")?.get("arguments")?.as_str()
}

fn name(call: &Map<String, Value>) -> Option<&str> {
    ["function", "custom"].into_iter().find_map(|kind| text(call.get(kind)?.as_object()?, "name"))
}

/// Returns a member that is a string, and not empty.
fn text<'a>(object: &'a Map<String, Value>, member: &str) -> Option<&'a str> {
    object.get(member).and_then(Value::as_str).filter(|text| !text.is_empty())
}
