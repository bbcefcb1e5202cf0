//! The rule for tools that state the part of a whole that their output is.

use serde_json::{Map, Value, json};

use super::{definition::ToolDef, error::ToolError};
use crate::wire::{Bounds, ToolOutput};

/// Returns the output with its bounds, if the tool declares that it has them.
///
/// # Errors
/// The failure of a tool that does not state its bounds, or leaves no way to the rest.
pub fn bounded(tool: &ToolDef, output: ToolOutput, bounds: Option<&Bounds>) -> Result<ToolOutput, ToolError> {
    if !tool.is_bounded() {
        return Ok(output);
    }
    let bounds = checked(tool.name(), bounds)?;
    Ok(match output {
        ToolOutput::Text(text) => text_of(&with_bounds(value_of(text), bounds)).into(),
        ToolOutput::Content(mut parts) => {
            let text = text_of(&with_bounds(Value::Object(Map::new()), bounds));
            parts.push(json!({"type": "input_text", "text": text}));
            ToolOutput::Content(parts)
        }
    })
}

/// Checks the bounds of a tool that declares them.
///
/// # Errors
/// The failure of the tool.
pub fn checked<'b>(tool: &str, bounds: Option<&'b Bounds>) -> Result<&'b Bounds, ToolError> {
    let broken = |reason| ToolError::tell_model(format!("Tool '{tool}' has run, but {reason}."));
    let Some(bounds) = bounds else { return Err(broken("its result does not state its bounds")) };
    if bounds.truncated && bounds.next_cursor.is_none() && bounds.refinement_hint.is_empty() {
        return Err(broken("its result is truncated, without a cursor or a hint"));
    }
    Ok(bounds)
}

/// Adds the bounds to a value, in the form in which a model reads them. A value that is not an
/// object becomes the member `result` of one.
pub fn with_bounds(value: Value, bounds: &Bounds) -> Value {
    let Bounds { returned, total, truncated, refinement_hint, next_cursor } = bounds;
    let mut members = match value {
        Value::Object(members) => members,
        value => Map::from_iter([("result".to_owned(), value)]),
    };
    members.insert("returned".to_owned(), json!(returned));
    if let Some(total) = total {
        members.insert("total".to_owned(), json!(total));
    }
    members.insert("truncated".to_owned(), json!(truncated));
    if !refinement_hint.is_empty() {
        members.insert("refinement_hint".to_owned(), json!(refinement_hint));
    }
    if let Some(cursor) = next_cursor {
        members.insert("next_cursor".to_owned(), json!(cursor));
    }
    Value::Object(members)
}

/// Returns the value whose compact JSON the text is, or else the text.
pub fn value_of(text: String) -> Value {
    let value = serde_json::from_str::<Value>(&text).ok();
    let compact = value.as_ref().map(Value::to_string);
    match value {
        Some(value) if compact.is_some_and(|compact| compact == text) => value,
        _ => Value::String(text),
    }
}

/// Returns a string as it is, and any other value as compact JSON.
pub fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

#[cfg(test)]
mod tests;
