//! The messages of Temporal's Workflow Streams: items with a topic, which a workflow keeps and
//! serves in the order of their offsets.
//!
//! The contract is that of the official SDKs (`temporalio.contrib.workflow_streams` for Python,
//! `@temporalio/workflow-streams` for TypeScript, `contrib/workflowstreams` for Go), so these
//! messages have no version of this crate. A member that is absent or of the wrong type has its
//! default value: a handler that cannot read its argument fails the workflow task forever.

use std::collections::{BTreeMap, BTreeSet};

use base64::{Engine, engine::general_purpose::STANDARD};
use prost::Message;
use serde::{Deserialize, Deserializer, Serialize, de::DeserializeOwned};
use serde_json::Value;
use temporalio_protos::temporal::api::common::v1::Payload;

/// Name of the signal that publishes items.
#[cfg(feature = "worker")]
pub(crate) const STREAM_PUBLISH: &str = "__temporal_workflow_stream_publish";
/// Name of the update that waits for items, and of the query that reads those that are present.
#[cfg(feature = "worker")]
pub(crate) const STREAM_POLL: &str = "__temporal_workflow_stream_poll";
/// Prefix of the message of a poll that an execution refuses, because it has had too many. The SDK
/// does not pass on the type of a failed update.
pub(crate) const STREAM_POLLS_USED_UP: &str = "StreamPollsUsedUp: ";
/// Topic of the events of agents.
pub(crate) const RUN_EVENTS_TOPIC: &str = "run_events";
/// Maximum size of an item with its topic, in bytes: the result of a poll that holds it must fit
/// into a payload of 2 MiB, or the workflow task would fail again and again.
pub(crate) const MOST_ITEM_BYTES: usize = 1_500_000;
/// Maximum length of a topic in bytes. JSON may write a byte as six.
pub(crate) const MAX_TOPIC_BYTES: usize = 1_000;
/// The metadata of a payload that names its encoding.
const ENCODING: &str = "encoding";

/// The argument of the signal that publishes a batch of items.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct PublishInput {
    /// Items, each a [`PublishEntry`].
    #[serde(default, deserialize_with = "or_default")]
    pub items: Vec<Value>,
    /// Id of the publisher, for the detection of duplicates; empty = no detection.
    #[serde(default, deserialize_with = "or_default")]
    pub publisher_id: String,
    /// Number of the batch, counted from 1 by its publisher.
    #[serde(default, deserialize_with = "or_default")]
    pub sequence: u64,
    /// Topics of the deltas of a turn, whose items the stream drops once the next turn is answered.
    /// Not a member of the contract, whose readers ignore it.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "or_default")]
    pub turn_topics: Vec<String>,
}

/// An item to publish.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PublishEntry {
    /// Topic of the item.
    #[serde(default)]
    pub topic: String,
    /// Bytes of a payload, as base64.
    #[serde(default)]
    pub data: String,
}

/// The argument of a poll.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PollInput {
    /// Topics to return; empty = all.
    #[serde(default, deserialize_with = "or_default")]
    pub topics: Vec<String>,
    /// Offset of the first item to return.
    #[serde(default, deserialize_with = "or_default")]
    pub from_offset: u64,
}

/// The result of a poll.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PollResult {
    /// Items in the order of their offsets.
    #[serde(default)]
    pub items: Vec<StreamItem>,
    /// Offset to poll from next.
    #[serde(default)]
    pub next_offset: u64,
    /// `true` if the items did not fit into one result.
    #[serde(default)]
    pub more_ready: bool,
}

/// An item of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamItem {
    /// Topic of the item.
    #[serde(default)]
    pub topic: String,
    /// Bytes of a payload, as base64.
    #[serde(default)]
    pub data: String,
    /// Position in the stream, over all topics.
    #[serde(default)]
    pub offset: u64,
}

/// A stream that continues in the next execution of its workflow.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CarriedStream {
    /// Items that are kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<StreamItem>,
    /// Offset of the next item.
    #[serde(default)]
    pub end_offset: u64,
    /// Publishers whose batches are known.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub publishers: BTreeMap<String, StreamPublisher>,
    /// Offset of the end of the stream at the latest answer of a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_at: Option<u64>,
    /// See [`PublishInput::turn_topics`].
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub turn_topics: BTreeSet<String>,
}

/// A publisher, as a stream knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StreamPublisher {
    /// Number of the latest batch.
    pub sequence: u64,
    /// Time of the latest batch, in milliseconds since 1970.
    pub last_seen: u64,
}

/// Returns a payload as an item holds it.
pub(crate) fn encode_payload(payload: &Payload) -> String {
    STANDARD.encode(payload.encode_to_vec())
}

/// Returns the payload of an item; `None` if the data is not a payload with an encoding, without
/// which the official subscribers end with an error.
pub(crate) fn decode_payload(data: &str) -> Option<Payload> {
    let payload = Payload::decode(STANDARD.decode(data).ok()?.as_slice()).ok()?;
    payload.metadata.contains_key(ENCODING).then_some(payload)
}

/// Returns a value as a payload of JSON.
pub(crate) fn json_payload(value: &(impl Serialize + ?Sized)) -> Result<Payload, serde_json::Error> {
    let metadata = [(ENCODING.to_owned(), b"json/plain".to_vec())];
    Ok(Payload { metadata: metadata.into(), data: serde_json::to_vec(value)?, ..Payload::default() })
}

/// Reads the argument of a handler from its first payload.
pub(crate) fn read_argument<T: DeserializeOwned + Default>(payloads: &[Payload]) -> T {
    payloads.first().and_then(|payload| serde_json::from_slice(&payload.data).ok()).unwrap_or_default()
}

/// Reads a member; one of the wrong type has its default value.
fn or_default<'de, T: DeserializeOwned + Default, D: Deserializer<'de>>(json: D) -> Result<T, D::Error> {
    Ok(serde_json::from_value(Value::deserialize(json)?).unwrap_or_default())
}

#[cfg(test)]
mod tests;
