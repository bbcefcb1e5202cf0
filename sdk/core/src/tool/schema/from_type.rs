//! Derivation of the schema of a Rust type.

use schemars::{
    JsonSchema, Schema,
    generate::SchemaSettings,
    transform::{RecursiveTransform, Transform},
};
use serde_json::{Map, Value, json};

use super::keywords::has_type;

/// Derives the JSON schema of what deserializes into `T`, as a model should see it.
///
/// Draft 2020-12, named types under `$defs`, fields in the order of declaration, doc comments as
/// descriptions. Keywords that a provider refuses or a model does not need are left out: `$schema`,
/// the title of the root (the type's name), the formats of numbers (`uint64`, `double`; ranges are
/// kept), and `uniqueItems` (a Rust set accepts duplicates). An object without members has
/// `properties: {}`.
///
/// A type that accepts any JSON ([`Value`]) has the schema `true`.
pub fn schema_of<T: JsonSchema>() -> Value {
    let mut schema = SchemaSettings::draft2020_12()
        .for_deserialize()
        .with(|settings| settings.meta_schema = None)
        .into_generator()
        .into_root_schema_for::<T>();
    if let Some(root) = schema.as_object_mut() {
        root.shift_remove("title");
    }
    RecursiveTransform(tidy).transform(&mut schema);
    match schema.to_value() {
        // Not `{}`: an author who writes the empty schema for a tool means a tool without
        // parameters.
        Value::Object(node) if node.is_empty() => Value::Bool(true),
        schema => schema,
    }
}

fn tidy(schema: &mut Schema) {
    let Some(node) = schema.as_object_mut() else {
        return;
    };
    // No format of JSON Schema applies to numbers; schemars puts the width of the Rust type there.
    if has_type(node, "integer") || has_type(node, "number") {
        node.shift_remove("format");
    }
    node.shift_remove("uniqueItems");
    // The description is first, so that the model reads it before the members, wherever the derive
    // macro puts it.
    if let Some(description) = node.shift_remove("description") {
        node.shift_insert(0, "description".to_owned(), description);
    }
    if is_bare_object(node) {
        node.insert("properties".to_owned(), json!({}));
    }
}

fn is_bare_object(node: &Map<String, Value>) -> bool {
    const SAYS_MORE: [&str; 7] =
        ["$ref", "additionalProperties", "allOf", "anyOf", "oneOf", "patternProperties", "properties"];
    has_type(node, "object") && !SAYS_MORE.iter().any(|keyword| node.contains_key(*keyword))
}

#[cfg(test)]
mod tests;
