//! Makes a schema fit a provider's strict mode, in which a model can write only what the schema
//! allows.
//!
//! The result is that of the Agents SDK for every schema that it accepts and that a provider can
//! accept. There are three differences: schemas that no provider accepts are refused here and not
//! by an HTTP error in a running workflow; a documented field of a recursive type keeps its
//! reference; and a `$ref` next to `properties` (which an internally tagged enum of structs
//! derives) is merged.
//!
//! The parts: [`refuse`] has the reasons for a refusal, [`merge`] joins two schemas that both
//! apply, [`pass`] rewrites every node.

mod merge;
mod pass;
mod refuse;

use serde_json::{Value, json};

use self::pass::Pass;
use super::keywords::is_object_schema;

/// Deepest nesting of objects and arrays in a schema, and of schemas after references are inlined.
const MAX_DEPTH: usize = 100;

/// The error of a schema that has no strict form.
///
/// # Retries
/// Not retried by Temporal: it is a mistake in a definition, found before any model call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("schema cannot be strict at {path}: {reason}")]
#[non_exhaustive]
pub struct NotStrict {
    /// The place, as a reference into the schema: `#` is the root, `#/properties/city` a member.
    pub path: String,
    /// The reason, and advice on a schema to use instead.
    pub reason: String,
}

impl NotStrict {
    /// Returns the reason for an output type or for the input of a handoff, which cannot be lenient
    /// as a tool can.
    pub(crate) fn reason_beside_tools(reason: &str) -> &str {
        refuse::beside_tools(reason)
    }

    fn new(path: &str, reason: impl Into<String>) -> Self {
        Self { path: path.to_owned(), reason: reason.into() }
    }
}

/// Makes a schema strict.
///
/// Every object is closed (`additionalProperties: false`) and requires all its members, at every
/// depth. `oneOf` becomes `anyOf`, `default: null` is removed, an `allOf` of one schema is merged
/// into its parent, and a `$ref` with other keywords next to it is replaced by its target. The
/// empty schema `{}` becomes an object without members. A strict schema is not changed.
///
/// Members that were optional are required in the result: an `Option` is nullable anyway, and the
/// model has to write a field with a serde default.
///
/// ```
/// # extern crate temporal_agents_core as temporal_agents;
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
/// [`NotStrict`] for a schema that strict mode does not support: maps, tuples, values of any type,
/// conditions and negation, an `allOf` of several schemas, an object that is also a union, a root
/// that is not an object, references without a target, and schemas beyond 100 levels or 100,000
/// nodes.
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
    // The type may have been the list `["object"]`.
    schema["type"] = json!("object");
    Ok(schema)
}

#[cfg(test)]
mod tests;
