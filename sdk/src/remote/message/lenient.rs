//! Members in which `null` is a value.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Reads a member that is there, with `null` as a value.
pub(super) fn present<'de, D: Deserializer<'de>>(member: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(member).map(Some)
}
