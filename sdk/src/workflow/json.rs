//! What an activity returned, not yet read, so that its version can be checked before anything else of it is believed.

use serde_json::Value;
use temporalio_workflow::common::{
    data_converters::{
        ErasedSerdePayloadConverter, PayloadConversionError, SerializationContext, TemporalDeserializable,
        TemporalSerializable,
    },
    protos::temporal::api::common::v1::Payload,
};

use crate::wire::{Versioned, WireDecodeError, decode, decode_text};

/// The result of an activity.
pub(super) enum Json {
    /// Plain JSON, as it came.
    Text(Vec<u8>),
    /// What the worker's converter made of something else.
    Value(Value),
}

impl Json {
    /// The message in it.
    pub(super) fn read<T: Versioned>(self, message: &'static str) -> Result<T, WireDecodeError> {
        match self {
            Self::Text(text) => decode_text(message, &text),
            Self::Value(value) => decode(message, value),
        }
    }
}

impl TemporalDeserializable for Json {
    /// Takes what is plain JSON as it is: the SDK's converter would read it, and then read what it has read. Anything else is
    /// the converter's.
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
impl TemporalSerializable for Json {}

/// What an activity or a workflow of somebody else returned; nothing is `null`.
pub(super) struct Foreign(Option<Json>);

impl Foreign {
    /// No result.
    #[cfg(feature = "nexus")]
    pub(super) fn nothing() -> Self {
        Self(None)
    }

    /// Its JSON.
    pub(super) fn into_value(self) -> Result<Value, serde_json::Error> {
        match self.0 {
            None => Ok(Value::Null),
            Some(Json::Text(text)) => serde_json::from_slice(&text),
            Some(Json::Value(value)) => Ok(value),
        }
    }
}

impl TemporalDeserializable for Foreign {
    fn from_serde(
        converter: &dyn ErasedSerdePayloadConverter,
        ctx: &SerializationContext<'_>,
        payload: Payload,
    ) -> Result<Self, PayloadConversionError> {
        Json::from_serde(converter, ctx, payload).map(|json| Self(Some(json)))
    }

    /// Takes no payload at all, as functions without a result leave in some languages.
    fn from_payloads(_: &SerializationContext<'_>, payloads: Vec<Payload>) -> Result<Self, PayloadConversionError> {
        if payloads.is_empty() { Ok(Self(None)) } else { Err(PayloadConversionError::WrongEncoding) }
    }
}

/// Nothing here writes one.
impl TemporalSerializable for Foreign {}
