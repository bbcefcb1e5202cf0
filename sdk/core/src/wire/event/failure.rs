//! A failure as history holds it: its type, its message and its cause.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Maximum bytes of the message of a failure that a run records.
const MAX_MESSAGE_BYTES: usize = 1024;

/// A failure, as far as history holds it.
///
/// JSON shape: `{"type": "Timeout", "message": "..", "cause": {..}}`, the cause only if there is
/// one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecordedFailure {
    /// Type of an application failure (`ModelInvocationError.RateLimit`), name of a
    /// [`RunError`](crate::engine::RunError), otherwise Temporal's name for the kind of failure
    /// (`Timeout`).
    #[serde(rename = "type")]
    pub type_name: String,
    /// Message of the failure.
    pub message: String,
    /// The failure that caused this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Box<RecordedFailure>>,
}

impl RecordedFailure {
    /// Returns a failure without a cause.
    #[doc(hidden)]
    pub fn new(type_name: impl Into<String>, message: impl Into<String>) -> Self {
        Self { type_name: type_name.into(), message: message.into(), cause: None }
    }

    /// Returns a failure whose message is at most 1,024 bytes.
    pub(crate) fn short(type_name: &str, mut message: String) -> Self {
        message.truncate(message.floor_char_boundary(MAX_MESSAGE_BYTES));
        Self::new(type_name, message)
    }
}
