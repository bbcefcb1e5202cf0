//! Who has decided on a call: a name that people give, of bounded length.
//!
//! # Design
//! **A name of who decided is cut, not refused.** Updates were recorded before a release knew of
//! `by`; the member was ignored. So anything but a string is still ignored, and a long name is cut
//! at 256 characters: no verdict over a recorded update changes.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Most characters of a name; the rest is cut off.
const LONGEST: usize = 256;

/// The name as it is kept; an empty one is none.
pub(crate) fn named(name: impl Into<String>) -> Option<String> {
    let mut name = name.into();
    if let Some((end, _)) = name.char_indices().nth(LONGEST) {
        name.truncate(end);
    }
    Some(name).filter(|name| !name.is_empty())
}

/// Reads a name. A message with anything else in its place is read without one: messages of callers were taken before there was a name.
///
/// # Errors
/// Where there is no value at all.
pub(crate) fn read<'de, D: Deserializer<'de>>(json: D) -> Result<Option<String>, D::Error> {
    Ok(match Value::deserialize(json)? {
        Value::String(name) => named(name),
        _ => None,
    })
}
