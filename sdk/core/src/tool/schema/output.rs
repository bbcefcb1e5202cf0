//! Wraps output schemas whose root is not an object.

use schemars::{
    Schema,
    transform::{RecursiveTransform, Transform},
};
use serde_json::{Map, Value, json};

use super::{
    keywords::{is_annotation, is_object_schema},
    reference::resolve,
};

/// The only member of a wrapped output: its value is the answer.
pub const RESPONSE_KEY: &str = "response";

/// Most references that are followed from the root.
const MAX_REFERENCES: usize = 100;

/// Wraps an output schema whose root is not an object; the returned flag is `true` if it was
/// wrapped.
///
/// Providers require an object at the root. Any other schema (array, number, union, nullable
/// object) becomes the one required member [`RESPONSE_KEY`] of an object, with its `$defs` moved to
/// the root. A root that is only a reference to an object is not wrapped; it is replaced by the
/// object.
///
/// The wrapper allows additional members (it has no `additionalProperties`):
/// [`strict`](super::strict()) closes it, and a schema that is not strict is sent open, as the
/// Agents SDK sends it.
///
/// # Source
/// Agents SDK, `AgentOutputSchema`.
pub fn wrap_output(schema: Value) -> (Value, bool) {
    if is_object_schema(&schema) {
        return (schema, false);
    }
    if let Some(object) = object_behind_root_reference(&schema) {
        return (object, false);
    }
    (wrapped(schema), true)
}

fn object_behind_root_reference(root: &Value) -> Option<Value> {
    let mut target = root;
    for _ in 0..MAX_REFERENCES {
        let node = target.as_object()?;
        let Some(reference) = node.get("$ref") else {
            break;
        };
        // Any other keyword would also apply to the object, so such a schema is wrapped.
        let only_annotations_beside = node.keys().all(|key| key == "$ref" || is_annotation(key));
        if !only_annotations_beside {
            return None;
        }
        target = resolve(root, reference.as_str()?)?;
    }
    if !is_object_schema(target) {
        return None;
    }

    let mut object = root.as_object()?.clone();
    object.shift_remove("$ref");
    // Annotations of the root take precedence over those of the target.
    for (key, value) in target.as_object()? {
        object.entry(key).or_insert_with(|| value.clone());
    }
    Some(Value::Object(object))
}

fn wrapped(mut schema: Value) -> Value {
    // The root moves below `properties`, so references to it must lead to a definition instead.
    let refers_to_itself =
        rewrite_references(&mut schema, |reference| refers_to_root(reference).then(|| reference.to_owned()));
    let name = refers_to_itself.then(|| free_definition_name(&schema));
    if let Some(name) = &name {
        rewrite_references(&mut schema, |reference| {
            let path = reference.strip_prefix('#')?;
            refers_to_root(reference).then(|| format!("#/$defs/{name}{path}"))
        });
    }

    // References to definitions are resolved at the root, so the definitions must stay there.
    let mut hoisted = hoist_definitions(&mut schema);
    if let Some(name) = name {
        let response = json!({ "$ref": format!("#/$defs/{name}") });
        let root = std::mem::replace(&mut schema, response);
        define(&mut hoisted, name, root);
    }

    let mut wrapper = Map::new();
    wrapper.insert("type".to_owned(), json!("object"));
    wrapper.insert("properties".to_owned(), json!({ RESPONSE_KEY: schema }));
    wrapper.insert("required".to_owned(), json!([RESPONSE_KEY]));
    wrapper.extend(hoisted);
    Value::Object(wrapper)
}

/// Returns `true` for a reference to the root, or to a part of it that moves with it; definitions
/// do not move.
fn refers_to_root(reference: &str) -> bool {
    reference.starts_with('#') && !reference.starts_with("#/$defs/") && !reference.starts_with("#/definitions/")
}

/// Replaces every reference for which `rewrite` returns another one; returns `true` if there was
/// any.
fn rewrite_references(schema: &mut Value, rewrite: impl Fn(&str) -> Option<String>) -> bool {
    let Ok(schema) = <&mut Schema>::try_from(schema) else {
        return false;
    };
    let mut found = false;
    RecursiveTransform(|node: &mut Schema| {
        let reference = node.get("$ref").and_then(Value::as_str);
        if let Some(other) = reference.and_then(&rewrite) {
            node.insert("$ref".to_owned(), Value::String(other));
            found = true;
        }
    })
    .transform(schema);
    found
}

fn free_definition_name(schema: &Value) -> String {
    let taken = |name: &str| schema.get("$defs").is_some_and(|defs| defs.get(name).is_some());
    let mut name = RESPONSE_KEY.to_owned();
    while taken(&name) {
        name.push('_');
    }
    name
}

fn hoist_definitions(schema: &mut Value) -> Map<String, Value> {
    let mut hoisted = Map::new();
    if let Value::Object(node) = schema {
        for key in ["$schema", "$defs", "definitions"] {
            if let Some((key, definitions)) = node.shift_remove_entry(key) {
                hoisted.insert(key, definitions);
            }
        }
    }
    hoisted
}

fn define(hoisted: &mut Map<String, Value>, name: String, schema: Value) {
    let definitions = hoisted.entry("$defs").or_insert_with(|| json!({}));
    if let Value::Object(definitions) = definitions {
        definitions.insert(name, schema);
    }
}

#[cfg(test)]
mod tests;
