//! Converts JSON to strings as the scenario format defines it, and fills in templates.

use serde_json::{Map, Value};

/// Serializes a value as compact JSON with sorted keys.
pub(super) fn compact(value: &Value) -> String {
    let mut sorted = value.clone();
    sorted.sort_all_objects();
    sorted.to_string()
}

/// Returns the content of a string, and compact JSON for any other value.
pub(super) fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| compact(value), str::to_owned)
}

/// Fills in a template: replaces each `{name}` by its value, one name after another.
pub(super) fn filled(template: &str, values: &[(&str, &str)]) -> String {
    values.iter().fold(template.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
}

/// Fills in the instructions with the agent's name and the values of the run context.
pub(super) fn instructions(template: &str, agent: &str, context: &Map<String, Value>) -> String {
    let named = filled(template, &[("agent_name", agent)]);
    context.iter().fold(named, |text, (key, value)| text.replace(&format!("{{context.{key}}}"), &text_of(value)))
}
