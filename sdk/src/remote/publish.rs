//! Publishes pings to the request stream of a toolset. Calls are published by
//! [`CallStreams`](super::marks::CallStreams).

use super::{
    marks::MAX_REQUESTS,
    message::{ToolCallMessage, toolset_stream},
    transport::Append,
};

/// Adds a ping of this toolset.
pub(super) fn ping(append: Append, toolset: &str, ping_id: &str) -> Result<Append, serde_json::Error> {
    let requests = toolset_stream(toolset);
    let message = serde_json::to_vec(&ToolCallMessage::ping(ping_id))?;
    Ok(append.entry(&*requests, "ping", message).max_len(&*requests, MAX_REQUESTS))
}
