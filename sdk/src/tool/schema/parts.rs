//! The schemas inside a schema, in a loop: a schema may be nested as deep as it likes.

use serde_json::Value;

/// Keywords with a schema, or a list of schemas.
pub(super) const SCHEMAS: [&str; 13] = [
    "additionalItems",
    "additionalProperties",
    "allOf",
    "anyOf",
    "contains",
    "else",
    "if",
    "items",
    "not",
    "oneOf",
    "prefixItems",
    "propertyNames",
    "then",
];

/// Keywords with schemas by name.
pub(super) const NAMED: [&str; 6] =
    ["$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"];

/// A schema and all schemas inside it, each with how many it is inside of. References are not followed.
pub(super) fn subschemas(schema: &Value) -> impl Iterator<Item = (usize, &Value)> {
    let mut pending = vec![(0, schema)];
    std::iter::from_fn(move || {
        let (depth, schema) = pending.pop()?;
        for keyword in SCHEMAS {
            match schema.get(keyword) {
                Some(Value::Array(schemas)) => pending.extend(schemas.iter().map(|schema| (depth + 1, schema))),
                Some(schema) => pending.push((depth + 1, schema)),
                None => {}
            }
        }
        for keyword in NAMED {
            let named = schema.get(keyword).and_then(Value::as_object);
            pending.extend(named.into_iter().flat_map(|named| named.values()).map(|schema| (depth + 1, schema)));
        }
        Some((depth, schema))
    })
}
