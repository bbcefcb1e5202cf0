//! An attempt that has ended.

use serde_json::Value;
use temporal_agents::wire::{SessionCheckpoint, session_checkpoint::SESSION_FORMAT};

use super::AttemptError;

/// An attempt that has ended, and what it has left.
#[derive(Debug)]
#[non_exhaustive]
pub struct FinishedAttempt<T> {
    /// How it ended.
    pub result: Result<T, AttemptError>,
    /// The checkpoints, in the order in which they were written: each is one that a crash may leave to the next attempt. Not those that a
    /// [`CheckpointStore`](temporal_agents::worker::agentic_session::CheckpointStore) keeps.
    pub checkpoints: Vec<SessionCheckpoint>,
    /// The details of the session's heartbeats, in order: checkpoints, and where those are that a store keeps. Without those that only repeat the
    /// one before, or what the attempt has found.
    pub heartbeats: Vec<Value>,
}

impl<T> FinishedAttempt<T> {
    pub(super) fn new(result: Result<T, AttemptError>, heartbeats: Vec<Value>) -> Self {
        Self { result, checkpoints: heartbeats.iter().filter_map(checkpoint).collect(), heartbeats }
    }
}

/// The checkpoint that a heartbeat holds.
fn checkpoint(details: &Value) -> Option<SessionCheckpoint> {
    let is_ours = details.get("format").and_then(Value::as_str) == Some(SESSION_FORMAT);
    let is_here = is_ours && details.get("kept").is_none();
    is_here.then(|| serde_json::from_value(details.clone()).expect("a session writes checkpoints that it can read"))
}
