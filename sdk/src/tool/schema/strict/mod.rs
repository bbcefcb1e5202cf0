//! Makes a schema fit a provider's strict mode, in which a model cannot write anything else.
//!
//! Follows the Agents SDK for every schema that it accepts and that a provider can take. It goes further in three ways:
//! what no provider takes is refused here and not by an HTTP error in a running workflow; a documented field of a
//! recursive type keeps its reference; and a `$ref` beside `properties` (what an internally tagged enum of structs
//! derives) is merged.
//!
//! The parts: [`refuse`] says no, [`merge`] joins two schemas that both apply, [`pass`] walks and rewrites.

mod merge;
mod pass;
mod refuse;

use serde_json::{Value, json};

use self::pass::Pass;
use super::keywords::is_object_schema;

/// Deepest nesting of objects and arrays in a schema, and of schemas after references are inlined.
const MAX_DEPTH: usize = 100;

/// A schema has no strict form.
///
/// # Retries
/// Not by Temporal: it is a mistake in a definition, found before any model call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("schema cannot be strict at {path}: {reason}")]
#[non_exhaustive]
pub struct NotStrict {
    /// Where, as a reference into the schema: `#` is the root, `#/properties/city` a member.
    pub path: String,
    /// Why, and what to write instead.
    pub reason: String,
}

impl NotStrict {
    /// The reason as it is said of an output type or of the input of a handoff, which cannot be lenient as a tool can.
    pub(crate) fn reason_beside_tools(reason: &str) -> &str {
        refuse::beside_tools(reason)
    }

    fn new(path: &str, reason: impl Into<String>) -> Self {
        Self { path: path.to_owned(), reason: reason.into() }
    }
}

/// Makes a schema strict.
///
/// Every object is closed (`additionalProperties: false`) and requires all its members, at every depth. `oneOf` becomes
/// `anyOf`, `default: null` goes, an `allOf` of one schema is merged into its parent, and a `$ref` with other keywords
/// beside it is replaced by its target. The empty schema `{}` is an object without members. Passing a strict schema
/// changes nothing.
///
/// Members that were optional are required afterwards: an `Option` is nullable anyway, a field with a serde default has
/// to be written by the model.
///
/// ```
/// use serde_json::json;
/// # use temporal_agents::tool::schema::strict;
///
/// let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
/// assert_eq!(
///     strict(schema)?,
///     json!({
///         "type": "object",
///         "properties": {"city": {"type": "string"}},
///         "additionalProperties": false,
///         "required": ["city"],
///     })
/// );
/// # Ok::<(), temporal_agents::tool::schema::NotStrict>(())
/// ```
///
/// # Errors
/// [`NotStrict`] for what strict mode cannot say: maps, tuples, values of any type, conditions and negation, an `allOf` of
/// several schemas, an object that is also a union, a root that is not an object, references that lead nowhere, and
/// schemas beyond 100 levels or 100,000 nodes.
///
/// # Source
/// Agents SDK, `ensure_strict_json_schema`.
pub fn strict(schema: Value) -> Result<Value, NotStrict> {
    refuse::deep_nesting(&schema)?;
    let original = schema.clone();
    match schema {
        Value::Object(node) if node.is_empty() => Ok(json!({
            "additionalProperties": false,
            "type": "object",
            "properties": {},
            "required": [],
        })),
        schema => object_root(Pass::new(&original).schema(schema, "#")?),
    }
}

fn object_root(mut schema: Value) -> Result<Value, NotStrict> {
    if schema.get("anyOf").is_some() {
        return Err(NotStrict::new("#", refuse::UNION_ROOT));
    }
    if !is_object_schema(&schema) {
        return Err(NotStrict::new("#", refuse::NO_OBJECT_ROOT));
    }
    // It may have been the list `["object"]`.
    schema["type"] = json!("object");
    Ok(schema)
}

#[cfg(test)]
mod tests;
