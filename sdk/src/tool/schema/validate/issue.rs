//! One violation of a schema.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// Most bytes of the allowed values of one issue: a list of a few hundred short values.
pub(super) const MAX_ALLOWED_BYTES: usize = 2_000;

/// Most bytes of the allowed values of all issues of a check; the model gets them together.
pub(super) const MAX_TOTAL_BYTES: usize = 32_000;

/// Most bytes of a path: names of members may be as long as the value.
const MAX_FIELD_BYTES: usize = 300;

/// Most bytes of a keyword that a provider names.
#[cfg(feature = "worker")]
const MAX_CONSTRAINT_BYTES: usize = 100;

/// The marker at the end of truncated values.
const CUT: &str = "…";

/// One violation of a schema, in a form that can be shown to a model or to a person.
///
/// It has the path and the keyword, never the value, which may be private.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Issue {
    /// Path to the value, steps joined with dots (`filter.tags.0`); empty for the root. A path
    /// beyond 300 bytes is truncated.
    pub field: String,
    /// The violated keyword: `type`, `required`, `enum`, ...
    pub constraint: String,
    /// The allowed values: the value of the keyword; for a missing member and for a union a summary
    /// of the schemas that would fit; for an unknown member the known ones. A long list or string
    /// is truncated, and ends in `…`.
    pub allowed: Value,
}

impl Issue {
    pub(super) fn new(field: &str, constraint: &str, allowed: impl Into<Value>) -> Self {
        Self { field: cut_text(field, MAX_FIELD_BYTES), constraint: constraint.to_owned(), allowed: allowed.into() }
    }
}

/// Issues that a provider outside of the worker has found.
#[cfg(feature = "worker")]
impl Issue {
    /// Creates an issue from strings and values of any length, which are truncated.
    pub(crate) fn of_provider(field: &str, constraint: &str, allowed: &Value) -> Self {
        let mut room = MAX_ALLOWED_BYTES;
        Self::new(field, &cut_text(constraint, MAX_CONSTRAINT_BYTES), cut(allowed, &mut room))
    }
}

impl fmt::Display for Issue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { field, constraint, allowed } = self;
        let field = if field.is_empty() { "(root)" } else { field };
        match constraint.as_str() {
            "required" => write!(f, "{field}: missing, allowed: {allowed}"),
            "additionalProperties" => write!(f, "{field}: unknown, allowed: {allowed}"),
            _ => write!(f, "{field}: fails {constraint}, allowed: {allowed}"),
        }
    }
}

/// Copies a value, truncated to about `room` bytes; subtracts its size from `room`.
pub(super) fn cut(value: &Value, room: &mut usize) -> Value {
    // The approximate size of brackets, a comma or a number.
    const MIN_BYTES: usize = 8;
    if *room < MIN_BYTES {
        return CUT.into();
    }
    *room -= MIN_BYTES;
    match value {
        Value::String(text) => {
            let text = cut_text(text, *room);
            *room = room.saturating_sub(text.len());
            Value::String(text)
        }
        Value::Array(values) => {
            let mut kept = Vec::new();
            for value in values {
                if *room < MIN_BYTES {
                    kept.push(json!(format!("{CUT} {} more", values.len() - kept.len())));
                    break;
                }
                kept.push(cut(value, room));
            }
            Value::Array(kept)
        }
        Value::Object(members) => {
            let mut kept = Map::new();
            for (name, value) in members {
                if *room < MIN_BYTES {
                    kept.insert(CUT.to_owned(), json!(format!("{} more", members.len() - kept.len())));
                    break;
                }
                let name = cut_text(name, *room);
                *room = room.saturating_sub(name.len());
                let value = cut(value, room);
                kept.insert(name, value);
            }
            Value::Object(kept)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn cut_text(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(most.saturating_sub(CUT.len()));
    format!("{}{CUT}", &text[..end])
}
