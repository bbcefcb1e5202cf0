//! The result of an attempt that has ended.

use serde_json::Value;
use temporal_agents::wire::SessionCheckpoint;
use temporal_agents_core::wire::session_checkpoint::SESSION_FORMAT;

use super::AttemptError;

/// An attempt that has ended, with its result and its checkpoints.
#[derive(Debug)]
#[non_exhaustive]
pub struct FinishedAttempt<T> {
    /// The output, or the error with which the attempt ended.
    pub result: Result<T, AttemptError>,
    /// The checkpoints, in the order in which they were written: a crash may leave any of them to
    /// the next attempt. Does not contain those that a
    /// [`CheckpointStore`](temporal_agents::agentic_session::CheckpointStore) keeps, nor those in
    /// another [`CheckpointFormat`](temporal_agents::agentic_session::CheckpointFormat) than
    /// `Native`: see [`heartbeats`](Self::heartbeats).
    pub checkpoints: Vec<SessionCheckpoint>,
    /// The details of the session's heartbeats, in order: checkpoints, or the locations of
    /// checkpoints that a store keeps. Omits details that only repeat the previous ones, or those
    /// with which the attempt began.
    pub heartbeats: Vec<Value>,
}

impl<T> FinishedAttempt<T> {
    pub(super) fn new(result: Result<T, AttemptError>, heartbeats: Vec<Value>) -> Self {
        Self { result, checkpoints: heartbeats.iter().filter_map(checkpoint).collect(), heartbeats }
    }
}

/// Returns the checkpoint that a heartbeat contains.
fn checkpoint(details: &Value) -> Option<SessionCheckpoint> {
    let is_ours = details.get("format").and_then(Value::as_str) == Some(SESSION_FORMAT);
    let is_here = is_ours && details.get("kept").is_none();
    is_here.then(|| serde_json::from_value(details.clone()).expect("a session writes checkpoints that it can read"))
}
