//! Names of people who decided on a call: set by callers, of bounded length.
//!
//! # Design
//! **A long name is truncated, not refused.** Updates were recorded by releases that did not know
//! `by` and ignored the member. So any value but a string is still ignored, and a long name is
//! truncated to 256 characters: the verdict on a recorded update never changes.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Maximum number of characters of a name; the rest is cut off.
const LONGEST: usize = 256;

/// Truncates a name to the maximum length; returns `None` for an empty name.
pub(crate) fn named(name: impl Into<String>) -> Option<String> {
    let mut name = name.into();
    if let Some((end, _)) = name.char_indices().nth(LONGEST) {
        name.truncate(end);
    }
    Some(name).filter(|name| !name.is_empty())
}

/// Reads a name. A message with any other value in its place is read without a name, because
/// messages of callers were accepted before the member existed.
///
/// # Errors
/// If there is no value at all.
pub(crate) fn read<'de, D: Deserializer<'de>>(json: D) -> Result<Option<String>, D::Error> {
    Ok(match Value::deserialize(json)? {
        Value::String(name) => named(name),
        _ => None,
    })
}
