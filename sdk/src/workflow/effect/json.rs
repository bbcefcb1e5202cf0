//! Conversion of payloads to JSON without parsing it: for activities on both sides, and for
//! workflows.

use serde_json::Value;
use temporal_agents_core::wire::{Json, WireDecodeError, version::Versioned};
use temporalio_workflow::common::{
    data_converters::{
        ErasedSerdePayloadConverter, PayloadConversionError, SerializationContext, TemporalDeserializable,
        TemporalSerializable,
    },
    protos::temporal::api::common::v1::Payload,
};

/// The payload of an activity's input or result, as JSON that is not yet parsed.
pub(crate) struct JsonPayload(pub(crate) Json);

impl JsonPayload {
    /// Reads the message, its version first.
    ///
    /// # Errors
    /// [`WireDecodeError`].
    pub(crate) fn read<T: Versioned>(self, message: &'static str) -> Result<T, WireDecodeError> {
        self.0.read(message)
    }

    /// Reads the message like [`read`](Self::read), and keeps the JSON for further use.
    ///
    /// # Errors
    /// [`WireDecodeError`].
    #[cfg(feature = "worker")]
    pub(crate) fn look<T: Versioned>(&self, message: &'static str) -> Result<T, WireDecodeError> {
        self.0.look(message)
    }

    /// Returns the JSON itself.
    ///
    /// # Errors
    /// Text that is not JSON.
    #[cfg(feature = "worker")]
    pub(crate) fn to_value(&self) -> Result<Value, serde_json::Error> {
        self.0.to_value()
    }
}

impl TemporalDeserializable for JsonPayload {
    /// Reads plain JSON without parsing it: the SDK's converter would parse it, and the result
    /// would be parsed once more.
    fn from_payload(_: &SerializationContext<'_>, payload: Payload) -> Result<Self, PayloadConversionError> {
        if is_plain_json(&payload) {
            Ok(Self(Json::Text(payload.data)))
        } else {
            Err(PayloadConversionError::WrongEncoding)
        }
    }

    /// Reads plain JSON without parsing it, for converters that bypass types that convert
    /// themselves. The converter decodes any other payload.
    fn from_serde(
        converter: &dyn ErasedSerdePayloadConverter,
        ctx: &SerializationContext<'_>,
        payload: Payload,
    ) -> Result<Self, PayloadConversionError> {
        if is_plain_json(&payload) {
            return Ok(Self(Json::Text(payload.data)));
        }
        Value::from_serde(converter, ctx, payload).map(|value| Self(Json::Value(value)))
    }
}

/// Returns `true` if the payload is JSON as the SDK's own converter writes it.
fn is_plain_json(payload: &Payload) -> bool {
    payload.metadata.get("encoding").is_some_and(|encoding| encoding == b"json/plain")
}

/// This library never serializes this type.
impl TemporalSerializable for JsonPayload {}

/// The result of an activity or a workflow that does not belong to this library; a missing result
/// is `null`.
pub(in crate::workflow) struct Foreign(Option<Json>);

impl Foreign {
    /// Creates the value of a missing result.
    #[cfg(feature = "nexus")]
    pub(in crate::workflow) fn nothing() -> Self {
        Self(None)
    }

    /// Returns the result as JSON.
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
        JsonPayload::from_payload(ctx, payload).map(|json| Self(Some(json.0)))
    }

    fn from_serde(
        converter: &dyn ErasedSerdePayloadConverter,
        ctx: &SerializationContext<'_>,
        payload: Payload,
    ) -> Result<Self, PayloadConversionError> {
        JsonPayload::from_serde(converter, ctx, payload).map(|json| Self(Some(json.0)))
    }

    /// Also accepts an empty list of payloads, which functions without a result leave in some
    /// languages.
    fn from_payloads(ctx: &SerializationContext<'_>, payloads: Vec<Payload>) -> Result<Self, PayloadConversionError> {
        match <[Payload; 1]>::try_from(payloads) {
            Ok([payload]) => Self::from_payload(ctx, payload),
            Err(payloads) if payloads.is_empty() => Ok(Self(None)),
            Err(_) => Err(PayloadConversionError::WrongEncoding),
        }
    }
}

/// This library never serializes this type.
impl TemporalSerializable for Foreign {}
