//! Members that other implementations write as `null` where they have no value.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Reads a member; `null` is its default.
pub(super) fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(member: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(member)?.unwrap_or_default())
}

/// Reads a list; `null` is the empty list, and its elements that are `null` are left out.
pub(super) fn list<'de, D: Deserializer<'de>, T: Deserialize<'de>>(member: D) -> Result<Vec<T>, D::Error> {
    let elements: Option<Vec<Option<T>>> = Option::deserialize(member)?;
    Ok(elements.unwrap_or_default().into_iter().flatten().collect())
}

/// Reads a member that is there, with `null` as a value.
pub(super) fn present<'de, D: Deserializer<'de>>(member: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(member).map(Some)
}
