//! The message that an activity is given, not yet read, and the one it returns, not yet written.
//!
//! A message is read from its text and written to it in one go: by way of a JSON value it would be copied once more each time.

use serde::Serialize;
use serde_json::Value;
use temporalio_common::{
    data_converters::{
        ErasedSerdePayloadConverter, PayloadConversionError, SerializationContext, TemporalDeserializable,
        TemporalSerializable,
    },
    protos::temporal::api::common::v1::Payload,
};

use crate::wire::{ModelReply, ToolReply, Versioned, WireDecodeError, decode, decode_text};

/// What an activity is given.
pub(super) enum Request {
    /// Plain JSON, as it came.
    Text(Vec<u8>),
    /// What the worker's converter made of something else.
    Value(Value),
}

impl Request {
    /// The message in it, its version first.
    pub(super) fn read<T: Versioned>(&self, message: &'static str) -> Result<T, WireDecodeError> {
        match self {
            Self::Text(text) => decode_text(message, text),
            Self::Value(value) => decode(message, value.clone()),
        }
    }

    /// Its JSON.
    pub(super) fn to_value(&self) -> Result<Value, serde_json::Error> {
        match self {
            Self::Text(text) => serde_json::from_slice(text),
            Self::Value(value) => Ok(value.clone()),
        }
    }
}

impl TemporalDeserializable for Request {
    /// Takes what is plain JSON as it is; anything else is the converter's.
    fn from_serde(
        converter: &dyn ErasedSerdePayloadConverter,
        ctx: &SerializationContext<'_>,
        payload: Payload,
    ) -> Result<Self, PayloadConversionError> {
        if payload.metadata.get("encoding").is_some_and(|encoding| encoding == b"json/plain") {
            return Ok(Self::Text(payload.data));
        }
        Value::from_serde(converter, ctx, payload).map(Self::Value)
    }
}

/// Nothing here writes one.
impl TemporalSerializable for Request {}

/// What an activity returns.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Reply {
    Model(ModelReply),
    Tool(ToolReply),
    /// Any other.
    Value(Value),
}

/// Nothing here reads one.
impl TemporalDeserializable for Reply {}
