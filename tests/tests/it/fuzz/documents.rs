//! JSON documents that were changed at random.

use std::{fmt, fs, path::Path};

use proptest::{collection::vec, prelude::any, sample::Index, strategy::Strategy};
use serde_json::{Map, Value, json};

/// Longer texts are not repeated: changes meet, and inputs are to stay small.
const MOST_REPEATED: usize = 10_000;

/// A changed document, as bytes from outside.
#[derive(Clone)]
pub(super) struct Document {
    /// The name of the one that was changed.
    pub(super) name: String,
    pub(super) text: Vec<u8>,
}

impl Document {
    /// The document as JSON, where it still is.
    pub(super) fn json(&self) -> Option<Value> {
        serde_json::from_slice(&self.text).ok()
    }
}

impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = String::from_utf8_lossy(&self.text);
        let cut = text.char_indices().nth(20_000).map_or(text.len(), |(at, _)| at);
        write!(f, "{} ({} bytes): {}", self.name, self.text.len(), &text[..cut])
    }
}

/// The golden messages of all versions of the wire contract, each under the name of its file.
pub(super) fn golden_messages() -> Vec<(String, Value)> {
    let entries = |directory: &Path| -> Vec<_> {
        let entries = fs::read_dir(directory).expect("the golden files are there");
        let mut paths: Vec<_> = entries.map(|entry| entry.expect("readable").path()).collect();
        paths.sort();
        paths
    };
    let versions = entries(&Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/wire"));
    let files = versions.iter().flat_map(|version| entries(version));
    let read = |path: &Path| serde_json::from_slice(&fs::read(path).expect("readable")).expect("JSON");
    files.map(|path| (path.file_name().unwrap_or_default().to_string_lossy().into_owned(), read(&path))).collect()
}

/// One change: what, where, and with what.
#[derive(Clone, Copy, Debug)]
pub(super) struct Change {
    pub(super) kind: u8,
    pub(super) place: Index,
    pub(super) other: Index,
}

pub(super) fn change() -> impl Strategy<Value = Change> {
    (any::<u8>(), any::<Index>(), any::<Index>()).prop_map(|(kind, place, other)| Change { kind, place, other })
}

/// These documents, each with up to four changes, and sometimes broken as text.
pub(super) fn documents(originals: Vec<(String, Value)>) -> impl Strategy<Value = Document> {
    (any::<Index>(), vec(change(), 0..5), change()).prop_map(move |(which, changes, breaks)| {
        let (name, original) = which.get(&originals);
        let mut json = original.clone();
        for change in changes {
            apply(change, &mut json, &originals);
        }
        Document { name: name.clone(), text: broken(json.to_string().into_bytes(), breaks) }
    })
}

/// Values that readers stumble over.
fn odd(which: Index) -> Value {
    let nested = |wrap: fn(Value) -> Value| (0..100).fold(Value::Null, |inner, _| wrap(inner));
    let text = |text: &str| Value::from(text);
    match which.index(25) {
        0 => Value::Null,
        1 => json!(true),
        2 => json!(0),
        3 => json!(-1),
        4 => json!(u64::MAX),
        5 => json!(i64::MIN),
        6 => json!(4_294_967_296_u64),
        7 => json!(1.5e308),
        8 => json!(-0.0),
        9 => json!(5e-324),
        10 => text(""),
        11 => text("\u{0}\u{7f}\u{202e}\u{feff}\u{ffff}\u{1f468}\u{200d}\u{1f469}"),
        12 => text("../../etc/passwd"),
        13 => text("9.9"),
        14 => text("1.999999999999999999999"),
        15 => text("sha256-128:00"),
        16 => Value::from("x".repeat(20_000)),
        17 => Value::from("\u{1b}[31m\n`".repeat(500)),
        18 => json!([]),
        19 => json!({}),
        20 => json!([[]]),
        21 => json!({"": {}}),
        22 => nested(|inner| json!([inner])),
        23 => nested(|inner| json!({"x": inner})),
        _ => Value::from(vec![json!({}); 2000]),
    }
}

/// Makes one change.
fn apply(change: Change, json: &mut Value, originals: &[(String, Value)]) {
    let count = count(json);
    let (_, foreign) = change.other.get(originals);
    let graft = match change.kind % 16 {
        0 => nth(json, change.other.index(count)).clone(),
        1 => nth(foreign, change.place.index(self::count(foreign))).clone(),
        _ => odd(change.other),
    };
    let node = nth_mut(json, change.place.index(count));
    match change.kind % 16 {
        0..=4 => *node = graft,
        5 => *node = json!([node.take()]),
        6 => *node = json!({"kind": node.take()}),
        7..=9 => remove(node, change.other),
        10 => double(node, change.other),
        11 => rename(node, change.other),
        12 => insert(node, graft, change.other),
        _ => scalar(node, change.other),
    }
}

/// How many values there are in one, itself included.
fn count(json: &Value) -> usize {
    1 + match json {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(members) => members.values().map(count).sum(),
        _ => 0,
    }
}

/// The value at a place, counted from the root.
fn nth(json: &Value, mut place: usize) -> &Value {
    if place == 0 {
        return json;
    }
    place -= 1;
    let inner: Vec<&Value> = match json {
        Value::Array(items) => items.iter().collect(),
        Value::Object(members) => members.values().collect(),
        _ => Vec::new(),
    };
    for value in inner {
        let count = count(value);
        if place < count {
            return nth(value, place);
        }
        place -= count;
    }
    json
}

fn nth_mut(json: &mut Value, mut place: usize) -> &mut Value {
    let mut node = json;
    loop {
        if place == 0 {
            return node;
        }
        place -= 1;
        let inner: Vec<&mut Value> = match node {
            Value::Array(items) => items.iter_mut().collect(),
            Value::Object(members) => members.values_mut().collect(),
            _ => unreachable!("the place was counted"),
        };
        let mut next = None;
        for value in inner {
            let count = count(value);
            if place < count {
                next = Some(value);
                break;
            }
            place -= count;
        }
        node = next.expect("the place was counted");
    }
}

fn remove(node: &mut Value, which: Index) {
    match node {
        Value::Array(items) if !items.is_empty() => drop(items.remove(which.index(items.len()))),
        Value::Object(members) if !members.is_empty() => {
            let name = key(members, which);
            members.remove(&name);
        }
        other => *other = Value::Null,
    }
}

fn double(node: &mut Value, which: Index) {
    match node {
        Value::Array(items) if !items.is_empty() => items.push(which.get(items).clone()),
        Value::Object(members) if !members.is_empty() => {
            let value = members[&key(members, which)].clone();
            members.insert("another".to_owned(), value);
        }
        _ => {}
    }
}

/// Gives a member the name of another one, or of none.
fn rename(node: &mut Value, which: Index) {
    let Value::Object(members) = node else { return };
    if members.is_empty() {
        return;
    }
    let name = key(members, which);
    let value = members.remove(&name).unwrap_or_default();
    let target = members.keys().next().cloned().unwrap_or_else(|| format!("{name}_"));
    members.insert(target, value);
}

fn insert(node: &mut Value, value: Value, which: Index) {
    match node {
        Value::Array(items) => items.insert(which.index(items.len() + 1), value),
        Value::Object(members) => drop(members.insert("$worker_env".to_owned(), value)),
        _ => {}
    }
}

/// Changes a text or a number a little.
fn scalar(node: &mut Value, how: Index) {
    match node {
        Value::String(text) => match how.index(4) {
            0 => {
                text.pop();
            }
            1 => text.push('\u{0}'),
            2 => *text = text.to_uppercase(),
            _ if text.len() < MOST_REPEATED => *text = text.repeat(100),
            _ => text.clear(),
        },
        Value::Number(number) => {
            let near = number.as_i64().unwrap_or_default();
            *node =
                [json!(near.wrapping_add(1)), json!(near.wrapping_neg()), json!(near.wrapping_mul(1000)), json!(0.5)]
                    [how.index(4)]
                .clone();
        }
        Value::Bool(flag) => *flag = !*flag,
        _ => {}
    }
}

fn key(members: &Map<String, Value>, which: Index) -> String {
    members.keys().nth(which.index(members.len())).cloned().unwrap_or_default()
}

/// The text as it is, mostly; else cut, with bytes that are none of a text, or very deep.
fn broken(mut text: Vec<u8>, change: Change) -> Vec<u8> {
    let at = change.place.index(text.len().max(1));
    match change.kind {
        0..=7 => text.truncate(at),
        8..=11 => text.insert(at.min(text.len()), 0xff),
        12..=15 => drop(text.splice(at..at, b"[".repeat(100_000))),
        16..=19 => drop(text.splice(at..at, *b"\\ud800")),
        20..=23 => drop(text.splice(at..at, *b"1e999999")),
        _ => {}
    }
    text
}
