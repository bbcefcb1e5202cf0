//! Publishes messages to the request stream of a toolset.
//!
//! # Design
//! **A call and the first entry of its result stream are one transaction**, which appends nothing
//! if the result stream exists. So a call is published once, whoever publishes it and however
//! often: whoever finds the stream knows that the call is published, and only reads.

use std::time::Duration;

use super::{
    message::{INIT_EVENT, ToolCallMessage, result_stream, toolset_stream},
    transport::Append,
};

/// Approximate number of entries after which the oldest of a request stream are removed.
const MOST_REQUESTS: usize = 10_000;

/// Returns the entries of a call of this toolset, whose message is this JSON. The result stream
/// exists for `retention`.
pub(super) fn call(toolset: &str, tool_use_id: &str, message: Vec<u8>, retention: Duration) -> Append {
    let (requests, results) = (toolset_stream(toolset), result_stream(tool_use_id));
    Append::new()
        .unless_exists(&*results)
        .entry(&*results, INIT_EVENT, b"{}".to_vec())
        .expire(&*results, retention)
        .entry(&*requests, "call", message)
        .max_len(&*requests, MOST_REQUESTS)
}

/// Adds a ping of this toolset.
pub(super) fn ping(append: Append, toolset: &str, ping_id: &str) -> Result<Append, serde_json::Error> {
    let requests = toolset_stream(toolset);
    let message = serde_json::to_vec(&ToolCallMessage::ping(ping_id))?;
    Ok(append.entry(&*requests, "ping", message).max_len(&*requests, MOST_REQUESTS))
}
