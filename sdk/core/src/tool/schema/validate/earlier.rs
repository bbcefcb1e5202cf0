//! The verdict of earlier builds, which checked fewer keywords: calls in existing histories were
//! checked by them.

use serde_json::{Map, Value};

use super::Issue;

/// Keywords that earlier builds did not check. Without `if`, neither `then` nor `else` applies.
const LATER_KEYWORDS: [&str; 15] = [
    "contains",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "format",
    "if",
    "maxProperties",
    "minProperties",
    "multipleOf",
    "not",
    "pattern",
    "propertyNames",
    "then",
    "else",
    "uniqueItems",
];

/// Keywords with a schema, or a list of schemas, that earlier builds applied.
const SCHEMAS: [&str; 6] = ["additionalProperties", "allOf", "anyOf", "items", "oneOf", "prefixItems"];

/// Keywords with schemas by name that earlier builds applied.
const NAMED: [&str; 3] = ["$defs", "definitions", "properties"];

/// Nested schemas from which later keywords are removed; deeper schemas are checked with all
/// keywords.
const MAX_DEPTH: usize = 256;

/// Checks a value by the keywords that earlier builds checked.
///
/// # Errors
/// At least one [`Issue`].
pub fn validate_earlier_keywords(schema: &Value, instance: &Value) -> Result<(), Vec<Issue>> {
    super::validate(&without_later_keywords(schema, MAX_DEPTH), instance)
}

fn without_later_keywords(schema: &Value, depth: usize) -> Value {
    let (Value::Object(node), Some(depth)) = (schema, depth.checked_sub(1)) else { return schema.clone() };
    // With `patternProperties`, earlier builds did not check members that are not declared.
    let has_patterns = node.contains_key("patternProperties");
    let is_later = |keyword: &str, rule: &Value| {
        LATER_KEYWORDS.contains(&keyword)
            || keyword == "patternProperties"
            || (keyword == "additionalProperties" && has_patterns)
            || (keyword == "items" && rule.is_array())
    };
    let kept = node.iter().filter(|(keyword, rule)| !is_later(keyword, rule));
    let kept = kept.map(|(keyword, rule)| (keyword.clone(), inside(keyword, rule, depth)));
    Value::Object(kept.collect::<Map<_, _>>())
}

fn inside(keyword: &str, rule: &Value, depth: usize) -> Value {
    match rule {
        Value::Array(schemas) if SCHEMAS.contains(&keyword) => {
            schemas.iter().map(|schema| without_later_keywords(schema, depth)).collect()
        }
        Value::Object(schemas) if NAMED.contains(&keyword) => {
            let schemas = schemas.iter().map(|(name, schema)| (name.clone(), without_later_keywords(schema, depth)));
            Value::Object(schemas.collect())
        }
        rule if SCHEMAS.contains(&keyword) => without_later_keywords(rule, depth),
        rule => rule.clone(),
    }
}
