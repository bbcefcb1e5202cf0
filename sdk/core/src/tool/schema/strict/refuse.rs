//! Reasons for which a schema has no strict form, with advice on a schema to use instead.

use serde_json::{Map, Value};

use super::{super::keywords::has_type, MAX_DEPTH, NotStrict};

pub(super) const MAP: &str =
    "a map has free keys; use a Vec of {key, value} structs or mark the tool `#[tool(lenient)]`";
pub(super) const ANY_VALUE: &str =
    "any value is valid here; use a specific type, or a String that holds JSON, or mark the tool `#[tool(lenient)]`";
/// Returns the reason with other advice where there is no tool: an output, or the input of a
/// handoff, is always strict.
pub(super) fn beside_tools(reason: &str) -> &str {
    match reason {
        MAP => "a map has free keys; use a Vec of {key, value} structs, or a String that holds JSON",
        ANY_VALUE => "any value is valid here; use a specific type, or a String that holds JSON",
        other => other,
    }
}

pub(super) const NO_VALUE: &str = "no value is valid here; remove the member or the variant";
pub(super) const NOT_A_SCHEMA: &str = "a schema is a JSON object; write one";
pub(super) const UNION_ROOT: &str = "the root is a union; put the union into a member of an object";
pub(super) const NO_OBJECT_ROOT: &str =
    "the root does not require an object; use a struct, or put the value into a member of an object";
pub(super) const TOO_LARGE: &str = "more than 100000 schemas; references multiply each other, flatten the types";
pub(super) const TOO_DEEP: &str = "nested more than 100 levels deep; flatten the types";

const TUPLE: &str = "a tuple has no names for its members; use a struct";
const CONDITION: &str = "conditions and negation are not available; use an enum with a variant for each case";
const OPEN_ARRAY: &str = "an array without `items` accepts any value; set the type of the items";
const ARRAY_CONTENTS: &str = "rules for some items of an array are not available; use one type for all items";
const ALL_OF: &str = "an `allOf` of several schemas is not available; write one object with all members";
const UNION_OF_OBJECT: &str =
    "an object cannot be both closed and a union; put the union (a flattened enum) into a member of its own";
const NESTED_ID: &str = "a nested `$id` changes what references mean; remove it";

const KEYWORDS: [(&str, &str); 16] = [
    ("prefixItems", TUPLE),
    ("additionalItems", TUPLE),
    ("not", CONDITION),
    ("if", CONDITION),
    ("then", CONDITION),
    ("else", CONDITION),
    ("dependencies", CONDITION),
    ("dependentRequired", CONDITION),
    ("dependentSchemas", CONDITION),
    ("patternProperties", MAP),
    ("propertyNames", MAP),
    ("unevaluatedProperties", MAP),
    ("unevaluatedItems", ARRAY_CONTENTS),
    ("contains", ARRAY_CONTENTS),
    ("minContains", ARRAY_CONTENTS),
    ("maxContains", ARRAY_CONTENTS),
];

/// Returns the reason for which this node, before it is rewritten, has no strict form.
pub(super) fn refusal(node: &Map<String, Value>, at: &str) -> Option<&'static str> {
    let known = KEYWORDS.iter().find(|(keyword, _)| node.contains_key(*keyword));
    if let Some((_, reason)) = known {
        return Some(reason);
    }
    if node.get("items").is_some_and(Value::is_array) {
        return Some(TUPLE);
    }
    if node.get("allOf").is_some_and(|all_of| !is_single_object(all_of)) {
        return Some(ALL_OF);
    }
    let union = node.contains_key("anyOf") || node.contains_key("oneOf");
    if union && (has_type(node, "object") || node.contains_key("properties")) {
        return Some(UNION_OF_OBJECT);
    }
    if at != "#" && node.contains_key("$id") {
        return Some(NESTED_ID);
    }
    None
}

fn is_single_object(all_of: &Value) -> bool {
    matches!(all_of.as_array().map(Vec::as_slice), Some([only]) if only.is_object())
}

/// Returns the reason for which this node, once rewritten, still accepts values of any type.
pub(super) fn open_value(node: &Map<String, Value>) -> Option<&'static str> {
    const CONSTRAINTS: [&str; 5] = ["type", "$ref", "enum", "const", "anyOf"];
    if !CONSTRAINTS.iter().any(|keyword| node.contains_key(*keyword)) {
        return Some(ANY_VALUE);
    }
    (has_type(node, "array") && !node.contains_key("items")).then_some(OPEN_ARRAY)
}

/// Refuses a schema whose objects and arrays are nested too deep; uses no recursion.
pub(super) fn deep_nesting(schema: &Value) -> Result<(), NotStrict> {
    let mut pending = vec![(schema, 1)];
    while let Some((value, depth)) = pending.pop() {
        if depth > MAX_DEPTH {
            return Err(NotStrict::new("#", TOO_DEEP));
        }
        let is_container = |value: &&Value| value.is_object() || value.is_array();
        match value {
            Value::Array(items) => pending.extend(items.iter().filter(is_container).map(|item| (item, depth + 1))),
            Value::Object(members) => {
                pending.extend(members.values().filter(is_container).map(|member| (member, depth + 1)));
            }
            _ => {}
        }
    }
    Ok(())
}

pub(super) fn unresolved_reference(reference: &Value) -> String {
    format!("{reference} points to no schema of this document; define it under `$defs`")
}

pub(super) fn next_to_recursive_reference(keyword: &str) -> String {
    format!("`{keyword}` is next to a reference to a schema that contains it; move one of them into a member")
}
