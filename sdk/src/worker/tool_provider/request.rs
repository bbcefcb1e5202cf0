//! One entry of the request stream.

use crate::remote::{
    CallStreams,
    message::{CallMessage, ToolCallMessage},
    transport::Entry,
};

/// An entry of the request stream, as a provider reads it.
pub(super) enum Request {
    Call(Box<CallMessage>, CallStreams),
    /// A ping of this id.
    Ping(String),
    /// Not a request of this toolset, or one that cannot be served, for this reason.
    Unreadable(String),
}

impl Request {
    /// Reads an entry of this toolset's stream.
    pub(super) fn read(toolset: &str, entry: &Entry) -> Self {
        let mut call = match serde_json::from_slice(&entry.payload) {
            Ok(ToolCallMessage::Ping { ping_id }) => return Self::Ping(ping_id),
            Ok(ToolCallMessage::Call(call)) if call.tool_use_id.is_empty() => {
                return Self::Unreadable("the call has no tool_use_id".to_owned());
            }
            Ok(ToolCallMessage::Call(call)) => call,
            Err(error) => return Self::Unreadable(error.to_string()),
        };
        if let Some(tool) = call.tool.strip_prefix(toolset).and_then(|rest| rest.strip_prefix('.')) {
            call.tool = String::from(tool);
        }
        match CallStreams::for_call(&call.tool_use_id) {
            Ok(streams) => Self::Call(call, streams),
            Err(error) => Self::Unreadable(format!("its tool_use_id cannot be served: {error}")),
        }
    }
}
