//! How large a schema of a stranger may be.

use serde_json::Value;

use super::parts::subschemas;

/// Most bytes of JSON: some 16,000 tokens of every request to the model.
const MAX_BYTES: usize = 64 * 1024;

/// Most schemas inside a schema.
const MAX_SCHEMAS: usize = 4_000;

/// Most references, and with it the longest chain of them.
const MAX_REFERENCES: usize = 1_000;

/// Deepest nesting of schemas.
const MAX_DEPTH: usize = 64;

/// A schema is larger than one from outside may be.
///
/// # Retries
/// Not by Temporal: the schema stays as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its schema has {found} {what}, and {most} are the most; have the server list a smaller one")]
#[non_exhaustive]
pub struct TooLarge {
    /// What was counted: `bytes`, `subschemas`, `references` or `levels`.
    pub what: &'static str,
    /// How many there are, counted until there were too many; of bytes, all.
    pub found: usize,
    /// The limit.
    pub most: usize,
}

/// Measures a schema from outside: at most 64 KiB of JSON, 4,000 schemas inside it, 1,000 references, 64 levels.
///
/// What a check of a value against it costs is bounded in any case; these limits keep out what would use that up.
///
/// # Errors
/// [`TooLarge`] with the first limit that it is beyond.
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
