//! JSON out of payloads, of activities on both sides and of workflows, taken as it is.

use serde_json::Value;
use temporalio_workflow::common::{
    data_converters::{
        ErasedSerdePayloadConverter, PayloadConversionError, SerializationContext, TemporalDeserializable,
        TemporalSerializable,
    },
    protos::temporal::api::common::v1::Payload,
};

use crate::wire::Json;

impl TemporalDeserializable for Json {
    /// Takes what is plain JSON as it is: the SDK's converter would read it, and then read what it has read.
    fn from_payload(_: &SerializationContext<'_>, payload: Payload) -> Result<Self, PayloadConversionError> {
        if is_plain_json(&payload) { Ok(Self::Text(payload.data)) } else { Err(PayloadConversionError::WrongEncoding) }
    }

    /// The same where the converter is not asked for types that convert themselves; anything else is the converter's.
    fn from_serde(
        converter: &dyn ErasedSerdePayloadConverter,
        ctx: &SerializationContext<'_>,
        payload: Payload,
    ) -> Result<Self, PayloadConversionError> {
        if is_plain_json(&payload) {
            return Ok(Self::Text(payload.data));
        }
        Value::from_serde(converter, ctx, payload).map(Self::Value)
    }
}

/// Whether this is JSON as the SDK's own converter writes it.
fn is_plain_json(payload: &Payload) -> bool {
    payload.metadata.get("encoding").is_some_and(|encoding| encoding == b"json/plain")
}

/// Nothing here writes one.
impl TemporalSerializable for Json {}

/// What an activity or a workflow of somebody else returned; nothing is `null`.
pub(in crate::workflow) struct Foreign(Option<Json>);

impl Foreign {
    /// No result.
    #[cfg(feature = "nexus")]
    pub(in crate::workflow) fn nothing() -> Self {
        Self(None)
    }

    /// Its JSON.
    pub(in crate::workflow) fn into_value(self) -> Result<Value, serde_json::Error> {
        match self.0 {
            None => Ok(Value::Null),
            Some(Json::Text(text)) => serde_json::from_slice(&text),
            Some(Json::Value(value)) => Ok(value),
        }
    }
}

impl TemporalDeserializable for Foreign {
    fn from_payload(ctx: &SerializationContext<'_>, payload: Payload) -> Result<Self, PayloadConversionError> {
        Json::from_payload(ctx, payload).map(|json| Self(Some(json)))
    }

    fn from_serde(
        converter: &dyn ErasedSerdePayloadConverter,
        ctx: &SerializationContext<'_>,
        payload: Payload,
    ) -> Result<Self, PayloadConversionError> {
        Json::from_serde(converter, ctx, payload).map(|json| Self(Some(json)))
    }

    /// Takes no payload at all, too, as functions without a result leave in some languages.
    fn from_payloads(ctx: &SerializationContext<'_>, payloads: Vec<Payload>) -> Result<Self, PayloadConversionError> {
        match <[Payload; 1]>::try_from(payloads) {
            Ok([payload]) => Self::from_payload(ctx, payload),
            Err(payloads) if payloads.is_empty() => Ok(Self(None)),
            Err(_) => Err(PayloadConversionError::WrongEncoding),
        }
    }
}

/// Nothing here writes one.
impl TemporalSerializable for Foreign {}
