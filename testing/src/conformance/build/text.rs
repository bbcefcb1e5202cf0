//! JSON as text, the way the format means it, and templates.

use serde_json::{Map, Value};

/// Compact JSON with sorted keys.
pub(super) fn compact(value: &Value) -> String {
    let mut sorted = value.clone();
    sorted.sort_all_objects();
    sorted.to_string()
}

/// A string itself, anything else as compact JSON.
pub(super) fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| compact(value), str::to_owned)
}

/// A template with each `{name}` replaced, one after the other.
pub(super) fn filled(template: &str, values: &[(&str, &str)]) -> String {
    values.iter().fold(template.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
}

/// Instructions with the agent's name and the values of the run context.
pub(super) fn instructions(template: &str, agent: &str, context: &Map<String, Value>) -> String {
    let named = filled(template, &[("agent_name", agent)]);
    context.iter().fold(named, |text, (key, value)| text.replace(&format!("{{context.{key}}}"), &text_of(value)))
}
