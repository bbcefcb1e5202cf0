//! A message as it came, not yet read, so that its version can be checked before anything else of it is believed.

use serde_json::Value;

use super::version::{Versioned, WireDecodeError, decode, decode_text};

/// The input or the result of an activity.
pub(crate) enum Json {
    /// Plain JSON, as it came.
    Text(Vec<u8>),
    /// What a converter made of something else.
    Value(Value),
}

impl Json {
    /// The message in it, its version first.
    ///
    /// # Errors
    /// [`WireDecodeError`].
    pub(crate) fn read<T: Versioned>(self, message: &'static str) -> Result<T, WireDecodeError> {
        match self {
            Self::Text(text) => decode_text(message, &text),
            Self::Value(value) => decode(message, value),
        }
    }

    /// The same where the JSON is still needed.
    ///
    /// # Errors
    /// [`WireDecodeError`].
    #[cfg(feature = "worker")]
    pub(crate) fn look<T: Versioned>(&self, message: &'static str) -> Result<T, WireDecodeError> {
        match self {
            Self::Text(text) => decode_text(message, text),
            Self::Value(value) => decode(message, value.clone()),
        }
    }

    /// The JSON itself.
    #[cfg(feature = "worker")]
    pub(crate) fn to_value(&self) -> Result<Value, serde_json::Error> {
        match self {
            Self::Text(text) => serde_json::from_slice(text),
            Self::Value(value) => Ok(value.clone()),
        }
    }
}
