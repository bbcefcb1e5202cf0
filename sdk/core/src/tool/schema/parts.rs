//! The subschemas of a schema, visited in a loop, since a schema may be nested to any depth.

use serde_json::Value;

/// Keywords whose value is a schema, or a list of schemas.
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

/// Keywords whose value is an object of schemas by name.
pub(super) const NAMED: [&str; 6] =
    ["$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"];

/// Returns a schema and all its subschemas, each with its depth. References are not followed.
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
