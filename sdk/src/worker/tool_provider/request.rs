//! One entry of the request stream.

use crate::remote::{
    message::{CallMessage, ToolCallMessage},
    transport::Entry,
};

/// An entry of the request stream, as a provider reads it.
pub(super) enum Request {
    Call(Box<CallMessage>),
    /// A ping of this id.
    Ping(String),
    /// Not a request of this toolset, for this reason.
    Unreadable(String),
}

impl Request {
    /// Reads an entry of this toolset's stream.
    pub(super) fn read(toolset: &str, entry: &Entry) -> Self {
        match serde_json::from_slice(&entry.payload) {
            Ok(ToolCallMessage::Ping { ping_id }) => Self::Ping(ping_id),
            Ok(ToolCallMessage::Call(call)) if call.tool_use_id.is_empty() => {
                Self::Unreadable("the call has no tool_use_id".to_owned())
            }
            Ok(ToolCallMessage::Call(mut call)) => {
                if let Some(tool) = call.tool.strip_prefix(toolset).and_then(|rest| rest.strip_prefix('.')) {
                    call.tool = String::from(tool);
                }
                Self::Call(call)
            }
            Err(error) => Self::Unreadable(error.to_string()),
        }
    }
}
