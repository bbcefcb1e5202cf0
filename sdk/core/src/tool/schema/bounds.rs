//! Limits on the size of a schema from outside.

use serde_json::Value;

use super::parts::subschemas;

/// Most bytes of JSON: about 16,000 tokens of every request to the model.
const MAX_BYTES: usize = 64 * 1024;

/// Most subschemas of a schema.
const MAX_SCHEMAS: usize = 4_000;

/// Most references; also the length of their longest chain.
const MAX_REFERENCES: usize = 1_000;

/// Deepest nesting of schemas.
const MAX_DEPTH: usize = 64;

/// The error of a schema from outside that is over a limit.
///
/// # Retries
/// Not retried by Temporal: the schema does not change.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its schema has {found} {what}, the limit is {most}; configure the server to list a smaller one")]
pub struct TooLarge {
    /// The unit of the count: `bytes`, `subschemas`, `references` or `levels`.
    pub what: &'static str,
    /// The count. Only bytes are counted to the end; other counts stop above the limit.
    pub found: usize,
    /// The limit.
    pub most: usize,
}

/// Measures a schema from outside: at most 64 KiB of JSON, 4,000 subschemas, 1,000 references, 64
/// levels.
///
/// The cost of a check of a value against the schema is limited in any case; these limits refuse
/// schemas that would use up that cost.
///
/// # Errors
/// [`TooLarge`] with the first limit that the schema exceeds.
pub fn measure(schema: &Value) -> Result<(), TooLarge> {
    let bound =
        |what, found: usize, most: usize| if found > most { Err(TooLarge { what, found, most }) } else { Ok(()) };
    bound("bytes", schema.to_string().len(), MAX_BYTES)?;
    let (mut schemas, mut references) = (0, 0);
    for (depth, schema) in subschemas(schema) {
        schemas += 1;
        references += usize::from(schema.get("$ref").is_some());
        bound("levels", depth, MAX_DEPTH)?;
        bound("subschemas", schemas, MAX_SCHEMAS)?;
        bound("references", references, MAX_REFERENCES)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
