//! Decodes payloads to messages, through the client's data converter.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use temporal_agents_core::wire::decode;
use temporalio_common::{
    data_converters::{
        ActivitySerializationContext, DataConverter, SerializationContext, SerializationContextData,
        WorkflowSerializationContext,
    },
    protos::temporal::api::common::v1::Payload,
};

use crate::client::transcript::TranscriptError;

/// Decodes a message of this crate.
///
/// # Errors
/// [`TranscriptError::Encoded`] when the data converter does not decode the payloads as JSON,
/// [`TranscriptError::Unreadable`] when the message is of another version or malformed.
pub(super) async fn message<T: DeserializeOwned>(
    converter: &DataConverter,
    payloads: Vec<Payload>,
    what: impl FnOnce() -> String,
) -> Result<T, TranscriptError> {
    let encodings = encodings(&payloads);
    let context = SerializationContextData::Activity(ActivitySerializationContext::new());
    let json: Value = match converter.from_payloads(&context, payloads).await {
        Ok(json) => json,
        Err(error) => return Err(TranscriptError::Encoded { what: what(), encodings, why: error.to_string() }),
    };
    decode("message", json).map_err(|error| TranscriptError::unreadable(what(), &error))
}

/// Decodes the input or the result of a workflow: JSON where it is JSON, otherwise an object with
/// its encoding and its size. It never fails, since the value belongs to the author, and a
/// transcript is useful without it.
pub(in crate::client) async fn value(converter: &DataConverter, payloads: Vec<Payload>) -> Value {
    let encodings = encodings(&payloads);
    let bytes: usize = payloads.iter().map(|payload| payload.data.len()).sum();
    let context = SerializationContextData::Workflow(WorkflowSerializationContext::new());
    match converter.codec().decode(&context, payloads).await {
        Ok(payloads) => {
            let one = |payload: Payload| {
                let (encoding, bytes) = (encoding(&payload), payload.data.len());
                plain(converter, payload).unwrap_or_else(|| json!({"encoding": encoding, "bytes": bytes}))
            };
            let mut values: Vec<Value> = payloads.into_iter().map(one).collect();
            if values.len() > 1 { Value::Array(values) } else { values.pop().unwrap_or(Value::Null) }
        }
        Err(_) => json!({"encoding": encodings, "bytes": bytes}),
    }
}

/// Converts a decoded payload to JSON.
pub(super) fn plain(converter: &DataConverter, payload: Payload) -> Option<Value> {
    use temporalio_common::data_converters::GenericPayloadConverter;
    let context = SerializationContextData::None;
    let converter = converter.payload_converter();
    converter.from_payload(&SerializationContext::new(&context, converter), payload).ok()
}

fn encodings(payloads: &[Payload]) -> String {
    payloads.iter().map(encoding).collect::<Vec<_>>().join(", ")
}

fn encoding(payload: &Payload) -> String {
    payload
        .metadata
        .get("encoding")
        .map_or_else(|| "none".to_owned(), |name| String::from_utf8_lossy(name).into_owned())
}
