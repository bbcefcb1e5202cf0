//! The request of an activity before it is decoded, and its reply before it is encoded.
//!
//! A message is decoded directly from its JSON and encoded directly to it: a detour through a JSON
//! value would copy it once more each time. `workflow/effect/json.rs` extracts a request from its
//! payload, and does the same with the results of activities.

use serde::Serialize;
use serde_json::Value;
use temporalio_common::data_converters::TemporalDeserializable;

/// The request of an activity.
pub(crate) use crate::workflow::JsonPayload as Request;
use temporal_agents_core::wire::{ModelReply, ToolReply, tool_batch::ToolBatchReply};

/// The reply of an activity.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum Reply {
    Model(ModelReply),
    Tool(ToolReply),
    ToolBatch(ToolBatchReply),
    /// The reply of any other activity.
    Value(Value),
}

/// Required by the SDK; replies are never decoded here.
impl TemporalDeserializable for Reply {}
