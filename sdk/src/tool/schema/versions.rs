//! Versions of one tool, as far as their argument schemas tell them apart.

use serde_json::{Map, Value};

/// Whether a schema names each of these members.
pub(crate) fn names_all(schema: &Value, members: &Map<String, Value>) -> bool {
    members.keys().all(|member| names(schema, member))
}

/// Whether no arguments that name members of the schemas alone can fit both: one of them requires a member that the other
/// does not name.
pub(crate) fn are_told_apart(one: &Value, other: &Value) -> bool {
    let requires_more = |one: &Value, other: &Value| required(one).any(|member| !names(other, member));
    requires_more(one, other) || requires_more(other, one)
}

fn names(schema: &Value, member: &str) -> bool {
    schema.get("properties").and_then(|properties| properties.get(member)).is_some()
}

fn required(schema: &Value) -> impl Iterator<Item = &str> {
    schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}
