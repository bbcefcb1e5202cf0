//! One violation of a schema, from strings and values of any length.

use serde_json::{Map, Value, json};

pub use crate::wire::tool_error::Issue;

use crate::tool::schema::json_type;

/// Most bytes of the allowed values of one issue: a list of a few hundred short values.
pub(super) const MAX_ALLOWED_BYTES: usize = 2_000;

/// Most bytes of the allowed values of all issues of a check; the model gets them together.
pub(super) const MAX_TOTAL_BYTES: usize = 32_000;

/// Most bytes of a path: names of members may be as long as the value.
const MAX_FIELD_BYTES: usize = 300;

/// Most bytes of a keyword that a tool names.
const MAX_CONSTRAINT_BYTES: usize = 100;

/// The marker at the end of truncated values.
const CUT: &str = "…";

impl Issue {
    pub(super) fn new(field: &str, constraint: &str, allowed: impl Into<Value>) -> Self {
        Self {
            field: cut_text(field, MAX_FIELD_BYTES),
            constraint: constraint.to_owned(),
            allowed: allowed.into(),
            actual_type: String::new(),
        }
    }

    /// Sets the JSON type that this value has.
    pub(super) fn set_type_of(&mut self, value: &Value) {
        json_type(value).clone_into(&mut self.actual_type);
    }
}

/// Issues that a tool or a provider has found.
impl Issue {
    /// Creates an issue from strings and values of any length, which are truncated.
    #[doc(hidden)]
    pub fn of_tool(field: &str, constraint: &str, allowed: &Value) -> Self {
        let mut room = MAX_ALLOWED_BYTES;
        Self::new(field, &cut_text(constraint, MAX_CONSTRAINT_BYTES), cut(allowed, &mut room))
    }

    /// Sets the JSON type that a provider has found.
    #[doc(hidden)]
    #[must_use]
    pub fn with_actual_type(self, actual_type: &str) -> Self {
        Self { actual_type: cut_text(actual_type, MAX_CONSTRAINT_BYTES), ..self }
    }
}

/// Copies a value, truncated to what the allowed values of one issue may have.
pub fn cut_value(value: &Value) -> Value {
    cut(value, &mut { MAX_ALLOWED_BYTES })
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

/// Returns the text, truncated to this many bytes.
pub fn cut_text(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(most.saturating_sub(CUT.len()));
    format!("{}{CUT}", &text[..end])
}
