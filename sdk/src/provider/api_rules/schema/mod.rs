//! A JSON schema, rewritten to what an API accepts.
//!
//! The steps of a schema: [`sound`] makes it valid JSON Schema 2020-12 with an object at its root,
//! [`fit`] removes what the API refuses and states it in the description, [`measure`] counts what
//! the limits of strict mode count.
//!
//! # Design
//! **A rewritten schema accepts at least what the original accepts.** A keyword that is removed
//! widens the schema, and the arguments of a call are still checked against the whole original
//! schema. So a rewrite can cost the model a hint, and never a valid call.
//!
//! **What is removed is stated in words,** as the SDKs of OpenAI and Anthropic do, so that a model
//! that is not forced still knows the rule.

mod cycles;
mod fit;
mod measure;
mod sound;
mod words;

pub(super) use fit::{Formats, Keywords, SchemaRules, fit};
pub(super) use measure::{Measures, measure};
pub(super) use sound::sound;

use serde_json::{Map, Value};

/// A schema that is an object: its keywords.
type Node = Map<String, Value>;

/// Deepest nesting of schemas that is rewritten; deeper schemas accept any value.
const MAX_DEPTH: usize = 100;

/// Keywords whose value is one schema.
const SCHEMA: [&str; 11] = [
    "items",
    "additionalProperties",
    "contains",
    "propertyNames",
    "not",
    "if",
    "then",
    "else",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contentSchema",
];
/// Keywords whose value is a list of schemas.
const SCHEMA_LIST: [&str; 4] = ["anyOf", "oneOf", "allOf", "prefixItems"];
/// Keywords whose value is an object of schemas.
const SCHEMA_MAP: [&str; 5] = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];

/// Calls a function with each schema directly below this one that is not `true` or `false`.
fn for_each_child(node: &mut Node, visit: &mut impl FnMut(&mut Value)) {
    for (keyword, value) in node.iter_mut() {
        let keyword = &**keyword;
        match value {
            Value::Array(schemas) if SCHEMA_LIST.contains(&keyword) => schemas.iter_mut().for_each(&mut *visit),
            Value::Object(schemas) if SCHEMA_MAP.contains(&keyword) => schemas.values_mut().for_each(&mut *visit),
            Value::Bool(_) => {}
            schema if SCHEMA.contains(&keyword) => visit(schema),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
