//! Comparison of the argument schemas of a tool's versions.

use serde_json::Map;
use serde_json::Value;

use super::parts::{NAMED, SCHEMAS};

/// Keywords for people and models, which do not affect if arguments fit.
const TEXTS: [&str; 4] = ["$comment", "description", "examples", "title"];

/// Returns a schema without its descriptive keywords: a corrected description does not make another
/// version.
pub fn without_texts(schema: &Value) -> Value {
    let Value::Object(node) = schema else { return schema.clone() };
    let part = |(keyword, part): (&String, &Value)| {
        let bare = match part {
            Value::Object(named) if NAMED.contains(&&**keyword) => {
                named.iter().map(|(name, schema)| (name.clone(), without_texts(schema))).collect()
            }
            Value::Array(schemas) if SCHEMAS.contains(&&**keyword) => schemas.iter().map(without_texts).collect(),
            schema if SCHEMAS.contains(&&**keyword) => without_texts(schema),
            other => other.clone(),
        };
        (keyword.clone(), bare)
    };
    Value::Object(node.iter().filter(|(keyword, _)| !TEXTS.contains(&&***keyword)).map(part).collect())
}

/// Returns `true` if a schema names each of these members.
pub fn declares_all(schema: &Value, members: &Map<String, Value>) -> bool {
    members.keys().all(|member| names(schema, member))
}

/// Returns `true` if no arguments whose members the schemas name can fit both: one of them requires
/// a member that the other does not name.
pub fn are_distinguishable(one: &Value, other: &Value) -> bool {
    let requires_more = |one: &Value, other: &Value| required(one).any(|member| !names(other, member));
    requires_more(one, other) || requires_more(other, one)
}

fn names(schema: &Value, member: &str) -> bool {
    schema.get("properties").and_then(|properties| properties.get(member)).is_some()
}

fn required(schema: &Value) -> impl Iterator<Item = &str> {
    schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

#[cfg(test)]
mod tests;
