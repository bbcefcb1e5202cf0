//! Tests of one schema object that more than one pass needs.

use serde_json::{Map, Value};

/// Keywords that describe a schema without constraining an instance, so that they may be next to a
/// `$ref` and take precedence over the same keyword of its target.
const ANNOTATIONS: [&str; 16] = [
    "$anchor",
    "$comment",
    "$defs",
    "$id",
    "$schema",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
    "default",
    "definitions",
    "deprecated",
    "description",
    "examples",
    "readOnly",
    "title",
    "writeOnly",
];

pub(super) fn is_annotation(keyword: &str) -> bool {
    ANNOTATIONS.contains(&keyword)
}

/// Returns `true` if `type` names this type, alone or in a list.
pub fn has_type(node: &Map<String, Value>, name: &str) -> bool {
    match node.get("type") {
        Some(Value::String(one)) => one == name,
        Some(Value::Array(several)) => several.iter().any(|one| one == name),
        _ => false,
    }
}

/// Returns the name of a value's type as the keyword `type` spells it.
pub fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Returns `true` if every instance must be an object, not null or any other type.
pub(super) fn is_object_schema(schema: &Value) -> bool {
    let Value::Object(node) = schema else {
        return false;
    };
    match node.get("type") {
        Some(Value::String(one)) => one == "object",
        Some(Value::Array(several)) => several.len() == 1 && has_type(node, "object"),
        Some(_) => false,
        None => node.get("properties").is_some_and(Value::is_object),
    }
}
