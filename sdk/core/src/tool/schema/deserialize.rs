//! Deserializes a value that a model wrote into a Rust type, and says which part serde refuses.
//!
//! A schema accepts more than the type behind it: `schemars` writes no upper bound for a `u32`, a
//! type may refuse what it was converted from, an alias may appear twice. The refusal is an
//! [`Issue`] like that of a schema, so that the model learns the field and the reason.
//!
//! # Design
//! **An issue has the words of serde, never the value.** Serde's own messages name what is expected
//! (`an integer from 0 to 4294967295`, the variants of an enum), and that is what an issue
//! contains. The message of an author's `Deserialize` may hold anything; it goes to the log, and
//! the issue says only that another value is needed.

use std::fmt;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use serde_path_to_error::Segment;

use super::validate::Issue;

/// The integer types of Rust: the range that each one accepts.
const RANGES: [(&str, i128, i128); 10] = [
    ("u8", 0, u8::MAX as i128),
    ("u16", 0, u16::MAX as i128),
    ("u32", 0, u32::MAX as i128),
    ("u64", 0, u64::MAX as i128),
    ("usize", 0, usize::MAX as i128),
    ("i8", i8::MIN as i128, i8::MAX as i128),
    ("i16", i16::MIN as i128, i16::MAX as i128),
    ("i32", i32::MIN as i128, i32::MAX as i128),
    ("i64", i64::MIN as i128, i64::MAX as i128),
    ("isize", isize::MIN as i128, isize::MAX as i128),
];

/// The error of a value that is not of a type.
#[derive(Debug)]
pub struct NotOfType {
    /// The part that was refused.
    pub(crate) issue: Issue,
    /// The error of serde, which may repeat the value.
    pub(crate) source: serde_json::Error,
    /// Path of the part that serde was reading; a member that is missing is named by the error.
    path: String,
}

impl fmt::Display for NotOfType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        write!(f, "{}", self.source)
    }
}

/// Deserializes a value.
///
/// # Errors
/// [`NotOfType`], with the path of the part that serde refuses.
pub fn deserialize<T: DeserializeOwned>(value: &Value) -> Result<T, Box<NotOfType>> {
    T::deserialize(value).map_err(|source| {
        // Only a refused value is read again: keeping track of the path has a cost.
        let steps = match serde_path_to_error::deserialize::<_, T>(value) {
            Err(error) => steps_of(error.path()),
            Ok(_) => Vec::new(),
        };
        let path = steps.join(".");
        Box::new(NotOfType { issue: issue_of(steps, value, &source.to_string()), source, path })
    })
}

fn steps_of(path: &serde_path_to_error::Path) -> Vec<String> {
    let step = |segment: &Segment| match segment {
        Segment::Seq { index } => Some(index.to_string()),
        Segment::Map { key } => Some(key.clone()),
        Segment::Enum { variant } => Some(variant.clone()),
        Segment::Unknown => None,
    };
    path.iter().filter_map(step).collect()
}

/// Returns the issue that a message of serde describes.
fn issue_of(mut path: Vec<String>, value: &Value, message: &str) -> Issue {
    let of_member = |kind: &str| {
        let (name, rest) = message.strip_prefix(kind)?.split_once('`')?;
        Some((name.to_owned(), rest))
    };
    let issue = |path: &[String], constraint, allowed: Value| Issue::of_tool(&path.join("."), constraint, &allowed);
    if let Some((name, _)) = of_member("missing field `") {
        path.push(name);
        return issue(&path, "required", json!("a value"));
    }
    if let Some((name, _)) = of_member("duplicate field `") {
        path.push(name);
        return issue(&path, "duplicate", json!("one value"));
    }
    if let Some((name, rest)) = of_member("unknown field `") {
        // The path ends at the name that serde was reading.
        if path.last() != Some(&name) {
            path.push(name);
        }
        return issue(&path, "additionalProperties", names_in(rest));
    }
    if let Some((_, rest)) = of_member("unknown variant `") {
        return issue(&path, "enum", names_in(rest));
    }
    if let Some(name) = message.strip_prefix("data did not match any variant of untagged enum ") {
        return issue(&path, "anyOf", json!(name));
    }
    for (kind, constraint) in [("invalid type: ", "type"), ("invalid value: ", "value"), ("invalid length ", "length")]
    {
        if let Some((found, expected)) = message.strip_prefix(kind).and_then(|rest| rest.rsplit_once(", expected ")) {
            path.extend(only_leaf(value, &path, found));
            return issue(&path, constraint, expected_values(found, expected));
        }
    }
    issue(&path, "value", json!("another value"))
}

/// Returns the names in backticks.
fn names_in(text: &str) -> Value {
    text.split('`').skip(1).step_by(2).collect()
}

fn expected_values(found: &str, expected: &str) -> Value {
    // Where serde reads the key of a map as a number, it adds the place in the key.
    let expected = expected.split(" at line ").next().unwrap_or(expected);
    // A whole float that was not turned into an integer is too large to be exact.
    let form = if found.starts_with("floating point ") { ", without fraction and exponent" } else { "" };
    match RANGES.iter().find(|(name, ..)| *name == expected) {
        Some((_, least, most)) => json!(format!("an integer from {least} to {most}{form}")),
        None => json!(expected),
    }
}

/// Returns the rest of the path to the only scalar that serde describes in this way. Serde reads
/// flattened members and tagged variants twice, and no longer knows where a scalar was.
fn only_leaf<'v>(value: &'v Value, path: &[String], found: &str) -> Vec<String> {
    let step = |value: &'v Value, step: &String| match value {
        Value::Array(items) => items.get(step.parse::<usize>().ok()?),
        value => value.get(step),
    };
    let Some(container) = path.iter().try_fold(value, step) else { return Vec::new() };
    let mut leaves = Vec::new();
    add_leaves(container, &mut Vec::new(), found, &mut leaves);
    match leaves.len() {
        1 => leaves.remove(0),
        _ => Vec::new(),
    }
}

fn add_leaves(value: &Value, path: &mut Vec<String>, found: &str, leaves: &mut Vec<Vec<String>>) {
    let described = match value {
        Value::Object(members) => {
            for (name, member) in members {
                path.push(name.clone());
                add_leaves(member, path, found, leaves);
                path.pop();
            }
            return;
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                path.push(index.to_string());
                add_leaves(item, path, found, leaves);
                path.pop();
            }
            return;
        }
        Value::Null => "null".to_owned(),
        Value::Bool(truth) => format!("boolean `{truth}`"),
        Value::Number(number) if number.is_f64() => format!("floating point `{number}`"),
        Value::Number(number) => format!("integer `{number}`"),
        Value::String(text) => format!("string {text:?}"),
    };
    if described == found {
        leaves.push(path.clone());
    }
}

#[cfg(test)]
mod tests;
