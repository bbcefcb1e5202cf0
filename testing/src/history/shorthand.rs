//! Expands the two shorthands of Temporal's tools into plain proto3 JSON.
//!
//! - Enum values by short name, as older servers and the CLI write them: `TimerStarted` for
//!   `EVENT_TYPE_TIMER_STARTED`.
//! - Payloads as the JSON that they contain. `["hi"]` represents a list of payloads with one JSON
//!   payload, `"hi"` one payload, `null` an empty one, and an object with `_protoMessageType` one
//!   in proto JSON.
//!
//! Anything in neither shorthand is left unchanged, including mistakes: the proto3 reader, which
//! runs afterwards, reports them.
//!
//! # Source
//!
//! The rules are those of Temporal's Go API, with which the CLI and the UI server write: an object
//! is a payload in full if it deserializes as a payload and has both metadata and data, or is an
//! empty payload; otherwise it is shorthand.

use std::collections::HashMap;

use prost_reflect::{DynamicMessage, EnumDescriptor, Kind, MessageDescriptor};
use serde_json::{Value, json};
use temporalio_common::protos::temporal::api::common::v1::Payload;

use super::{json::proto3_json, walk};

const MESSAGE_TYPE: &str = "_protoMessageType";

/// Expands all shorthands in the JSON of one message.
pub(super) fn expand(value: &mut Value, message: &MessageDescriptor) {
    match message.full_name() {
        "temporal.api.common.v1.Payload" => return expand_payload(value, message),
        "temporal.api.common.v1.Payloads" if value.is_array() => *value = json!({ "payloads": value.take() }),
        _ => {}
    }
    let Value::Object(fields) = value else { return };
    for (key, value) in fields {
        let Some(field) = walk::field(message, key) else { continue };
        walk::each_value(value, &field, |value, kind| match kind {
            Kind::Message(message) => expand(value, message),
            Kind::Enum(names) => expand_enum(value, names),
            _ => {}
        });
    }
}

fn expand_payload(value: &mut Value, payload: &MessageDescriptor) {
    if is_payload_in_full(value, payload) {
        return;
    }
    let expanded = match value.take() {
        Value::Null => encoded("binary/null", [], Vec::new()),
        Value::Object(mut fields) if fields.get(MESSAGE_TYPE).is_some_and(Value::is_string) => {
            let message_type = fields.shift_remove(MESSAGE_TYPE);
            let message_type = message_type.as_ref().and_then(Value::as_str).unwrap_or_default();
            let data = Value::Object(fields).to_string().into_bytes();
            encoded("json/protobuf", [("messageType", message_type)], data)
        }
        plain => encoded("json/plain", [], plain.to_string().into_bytes()),
    };
    *value = proto3_json(&expanded, payload.clone());
}

fn encoded<const N: usize>(encoding: &str, further: [(&str, &str); N], data: Vec<u8>) -> Payload {
    let metadata = [("encoding", encoding)].into_iter().chain(further);
    Payload {
        metadata: metadata.map(|(key, value)| (key.to_owned(), value.as_bytes().to_vec())).collect::<HashMap<_, _>>(),
        data,
        ..Payload::default()
    }
}

fn is_payload_in_full(value: &Value, payload: &MessageDescriptor) -> bool {
    let Ok(message) = DynamicMessage::deserialize(payload.clone(), value) else {
        return false;
    };
    let payload: Payload = message.transcode_to().expect("the descriptor is the one that Payload was made from");
    let is_empty_payload = payload.metadata.get("encoding").is_some_and(|encoding| encoding == b"binary/null");
    !payload.metadata.is_empty() && (is_empty_payload || value.get("data").is_some())
}

/// Expands a short name of an enum value; leaves a name that the enum does not have unchanged.
fn expand_enum(value: &mut Value, names: &EnumDescriptor) {
    let Value::String(short) = &*value else { return };
    if names.get_value_by_name(short).is_some() {
        return;
    }
    let prefix = common_prefix(names);
    let matching = names.values().find(|candidate| {
        let distinct = candidate.name()[prefix..].replace('_', "");
        distinct.eq_ignore_ascii_case(short)
    });
    if let Some(full) = matching {
        *value = full.name().into();
    }
}

/// Returns the length in bytes of the words that all names of the enum have in common:
/// `EVENT_TYPE_` for event types.
fn common_prefix(names: &EnumDescriptor) -> usize {
    let first = names.default_value();
    let shared = names.values().map(|other| {
        let pairs = first.name().bytes().zip(other.name().bytes());
        pairs.take_while(|(a, b)| a == b).count()
    });
    let shared = shared.min().unwrap_or_default();
    // Cut back to the last underscore, so that only complete words count.
    first.name()[..shared].rfind('_').map_or(0, |last| last + 1)
}
