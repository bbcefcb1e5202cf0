//! A message that is not yet parsed, so that its version is checked before anything else in it is
//! used.

use serde_json::Value;

use super::version::{Versioned, WireDecodeError, decode, decode_text};

/// The JSON of the input or the result of an activity.
#[derive(Debug)]
pub enum Json {
    /// Plain JSON, unchanged.
    Text(Vec<u8>),
    /// A value that a converter produced from another encoding.
    Value(Value),
}

impl Json {
    /// Reads the message, its version first.
    ///
    /// # Errors
    /// [`WireDecodeError`].
    pub fn read<T: Versioned>(self, message: &'static str) -> Result<T, WireDecodeError> {
        match self {
            Self::Text(text) => decode_text(message, &text),
            Self::Value(value) => decode(message, value),
        }
    }

    /// Reads the message like [`read`](Self::read), and keeps the JSON for further use.
    ///
    /// # Errors
    /// [`WireDecodeError`].
    pub fn look<T: Versioned>(&self, message: &'static str) -> Result<T, WireDecodeError> {
        match self {
            Self::Text(text) => decode_text(message, text),
            Self::Value(value) => decode(message, value.clone()),
        }
    }

    /// Returns the JSON itself.
    pub fn to_value(&self) -> Result<Value, serde_json::Error> {
        match self {
            Self::Text(text) => serde_json::from_slice(text),
            Self::Value(value) => Ok(value.clone()),
        }
    }
}
