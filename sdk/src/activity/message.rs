//! The message that an activity is given, not yet read, and the one it returns, not yet written.
//!
//! A message is read from its text and written to it in one go: by way of a JSON value it would be copied once more each time. How a request is
//! taken out of its payload is in `workflow/json.rs`, which does the same with what activities return.

use serde::Serialize;
use serde_json::Value;
use temporalio_common::data_converters::TemporalDeserializable;

/// What an activity is given.
pub(crate) use crate::wire::Json as Request;
use crate::wire::{ModelReply, ToolReply};

/// What an activity returns.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum Reply {
    Model(ModelReply),
    Tool(ToolReply),
    /// Any other.
    Value(Value),
}

/// Nothing here reads one.
impl TemporalDeserializable for Reply {}
