//! The streams and the entries of a broker.

use prost::Message;
use serde_json::Value;
use sha2::{Digest, Sha256};
use temporal_agents_core::wire::{RunEvent, decode};
use temporalio_common::{
    data_converters::{ActivitySerializationContext, DataConverter, SerializationContextData},
    protos::temporal::api::common::v1::Payload,
};

/// Returns the name of the stream of a call: `deltas:` and a digest of its namespace, workflow id,
/// run id and id, which may be any strings.
pub(super) fn stream_of(call: [&str; 4]) -> String {
    let mut digest = Sha256::new();
    for part in call {
        // With its length, so that no two calls have the same parts.
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part);
    }
    format!("deltas:{:x}", digest.finalize())
}

/// Returns a batch as the bytes of a payload, which holds a list of events; `None` if the codec
/// fails.
pub(super) async fn encode_batch(converter: &DataConverter, events: &[RunEvent]) -> Option<Vec<u8>> {
    let json = serde_json::to_value(events).ok()?;
    match converter.to_payload(&context(), &json).await {
        Ok(payload) => Some(payload.encode_to_vec()),
        Err(error) => {
            tracing::warn!(%error, "deltas cannot be encoded: the rest of the attempt is not sent");
            None
        }
    }
}

/// Returns the events of a batch; those that this build or this client cannot read are missing.
pub(super) async fn decode_batch(converter: &DataConverter, entry: &[u8]) -> Vec<RunEvent> {
    let Ok(payload) = Payload::decode(entry) else { return Vec::new() };
    let decoded: Result<Vec<Value>, _> = converter.from_payload(&context(), payload).await;
    let events = decoded.unwrap_or_default().into_iter();
    events.filter_map(|event| decode("run event", event).ok()).collect()
}

fn context() -> SerializationContextData {
    SerializationContextData::Activity(ActivitySerializationContext::new())
}
