//! What an activity returned, as JSON, so that its version can be checked before anything else of it is read.

use serde_json::Value;
use temporalio_workflow::common::{
    data_converters::{
        ErasedSerdePayloadConverter, PayloadConversionError, SerializationContext, TemporalDeserializable,
        TemporalSerializable,
    },
    protos::temporal::api::common::v1::Payload,
};

/// The result of an activity.
pub(super) struct Json(pub(super) Value);

impl TemporalDeserializable for Json {
    /// Reads what is plain JSON at once: the SDK's converter would read it, and then read what it has read. Anything else is the
    /// converter's.
    fn from_serde(
        converter: &dyn ErasedSerdePayloadConverter,
        ctx: &SerializationContext<'_>,
        payload: Payload,
    ) -> Result<Self, PayloadConversionError> {
        if payload.metadata.get("encoding").is_some_and(|encoding| encoding == b"json/plain") {
            let read = serde_json::from_slice(&payload.data);
            return read.map(Self).map_err(|error| PayloadConversionError::EncodingError(error.into()));
        }
        Value::from_serde(converter, ctx, payload).map(Self)
    }
}

/// Nothing here writes one.
impl TemporalSerializable for Json {}
