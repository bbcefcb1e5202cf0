//! Distinguishes the Rust SDK's own JSON of a history from Temporal's.
//!
//! The SDK derives its JSON from the Rust structs, where the attributes of an event are one field
//! of an enum type. Temporal's form has no such key: it writes the attribute message under its own
//! name.

use serde_json::Value;

/// Returns `true` if the JSON has the Rust SDK's own form. Without events the two forms are
/// identical.
pub(super) fn matches(json: &Value) -> bool {
    json.pointer("/events/0/attributes").is_some()
}
