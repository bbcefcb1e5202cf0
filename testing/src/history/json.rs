//! Reads a history from JSON of either form, and writes Temporal's own JSON.

use prost_reflect::{DynamicMessage, MessageDescriptor};
use serde_json::Value;
use serde_path_to_error::{Deserializer, Track};
use temporal_agents::__private::error_debug;
use temporalio_common::protos::temporal::api::history::v1::History;
use thiserror::Error;

use super::{descriptors, sdk_form, shorthand, walk};

/// The error if a JSON input is not a history.
#[derive(Error)]
#[non_exhaustive]
pub enum HistoryJsonError {
    /// The input is not JSON.
    #[error("not JSON")]
    Syntax(#[source] serde_json::Error),
    /// The input is JSON, but not a history of this API version: an unknown field or name, or a
    /// value of the wrong type.
    #[error("not a workflow history, at `{path}`")]
    Shape {
        /// Path of the value, as in `events[3].activityTaskScheduledEventAttributes.retryPolicy`;
        /// an unknown field is reported at the object that contains it.
        path: String,
        /// The error in the value.
        source: serde_json::Error,
    },
}

error_debug!(enum HistoryJsonError {
    Syntax(source),
    Shape { path, source },
});

/// Reads a history from JSON, in Temporal's own form or in that of the Rust SDK.
///
/// All variants of Temporal's own form are accepted: enum values by full name
/// (`EVENT_TYPE_TIMER_STARTED`), by short name (`TimerStarted`) and by number, keys in camelCase
/// and snake_case, and payloads in the CLI's shorthand, in which a JSON payload is written as plain
/// JSON. Shorthand does not preserve the bytes of a payload (whitespace, and in the CLI's output
/// the order of keys, are lost), only its meaning.
///
/// ```
/// use temporal_agents_testing::history;
///
/// let exported = r#"{"events": [{
///     "eventId": "1",
///     "eventTime": "2026-01-02T03:04:05Z",
///     "eventType": "WorkflowExecutionStarted"
/// }]}"#;
/// let history = history::from_json(exported)?;
/// assert_eq!(history.events[0].event_id, 1);
/// # Ok::<_, history::HistoryJsonError>(())
/// ```
pub fn from_json(json: impl AsRef<[u8]>) -> Result<History, HistoryJsonError> {
    let json: Value = serde_json::from_slice(json.as_ref()).map_err(HistoryJsonError::Syntax)?;
    if sdk_form::matches(&json) {
        return parse(json, |input| serde::Deserialize::deserialize(input));
    }
    from_proto3_json(json)
}

/// Writes a history as Temporal's own JSON, indented, which the web UI, the CLI and the replayer of
/// every SDK read.
///
/// The same history always produces the same output, so that it can be kept as a golden file.
pub fn to_json(history: &History) -> String {
    let descriptor = descriptors::history();
    let mut json = proto3_json(history, descriptor.clone());
    walk::sort_maps(&mut json, &descriptor);
    format!("{json:#}")
}

fn from_proto3_json(mut json: Value) -> Result<History, HistoryJsonError> {
    let descriptor = descriptors::history();
    shorthand::expand(&mut json, &descriptor);
    let message = parse(json, |input| DynamicMessage::deserialize(descriptor, input))?;
    Ok(message.transcode_to().expect("the descriptor is the one that History was made from"))
}

/// Returns the proto3 JSON of one message.
pub(super) fn proto3_json(message: &impl prost::Message, descriptor: MessageDescriptor) -> Value {
    let mut dynamic = DynamicMessage::new(descriptor);
    dynamic.transcode_from(message).expect("the descriptor is the one that the message was made from");
    serde_json::to_value(&dynamic).expect("messages of a history have no `Any`, the one type that may have no JSON")
}

/// Runs a deserializer over the value and adds the path of the value to its error.
fn parse<T>(
    json: Value,
    read: impl FnOnce(Deserializer<'_, '_, Value>) -> Result<T, serde_json::Error>,
) -> Result<T, HistoryJsonError> {
    let mut track = Track::new();
    read(Deserializer::new(json, &mut track))
        .map_err(|source| HistoryJsonError::Shape { path: track.path().to_string(), source })
}
