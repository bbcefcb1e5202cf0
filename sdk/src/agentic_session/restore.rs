//! Restores a session from the heartbeat of the previous attempt.

use std::sync::atomic::Ordering;

use serde_json::Value;
use temporal_agents_core::wire::{
    SessionCheckpoint, decode,
    session_checkpoint::{SESSION_FORMAT, SessionRun},
};
use temporalio_sdk::activities::ActivityContext;

use super::{error::CheckpointError, host::SessionHost, progress::Begun, proposal, store::Storage};

/// The checkpoint from which a session continues, or a new one.
pub(super) struct Restored {
    pub(super) checkpoint: SessionCheckpoint,
    pub(super) is_resumed: bool,
}

/// Reads the checkpoint of the previous attempt. A heartbeat that cannot be read, or that no
/// attempt of this session can have written, is logged as a warning, and the session starts from
/// the beginning: an activity that can never run again would be worse. (Anyone who may send
/// heartbeats of the activity can make it start from the beginning in any case, with an empty
/// heartbeat.)
///
/// # Errors
/// [`CheckpointError::Store`] when the checkpoint is in a store that does not return it, which is
/// retryable; [`CheckpointError::Absent`] when it is no longer in the store.
pub(super) async fn restore(ctx: &ActivityContext, storage: &Storage) -> Result<Restored, CheckpointError> {
    let fresh = Restored { checkpoint: SessionCheckpoint::new(), is_resumed: false };
    let details = match ctx.heartbeat_details().deserialize::<Value>() {
        Ok(None | Some(Value::Null)) => return Ok(fresh),
        Ok(Some(details)) => details,
        Err(error) => {
            warn(ctx, &error.to_string());
            return Ok(fresh);
        }
    };
    let details = match storage.fetch(details).await {
        Err(foreign @ CheckpointError::Foreign { .. }) => {
            warn(ctx, &foreign.to_string());
            return Ok(fresh);
        }
        fetched => fetched?,
    };
    match read(details) {
        Ok(checkpoint) => Ok(Restored { checkpoint, is_resumed: true }),
        Err(why) => {
            warn(ctx, &why);
            Ok(fresh)
        }
    }
}

/// Reads a checkpoint of this crate or of the proposal.
///
/// # Errors
/// The reason why `details` is not a checkpoint.
fn read(details: Value) -> Result<SessionCheckpoint, String> {
    if details.get("format").and_then(Value::as_str) == Some(SESSION_FORMAT) {
        let checkpoint: SessionCheckpoint = decode("session checkpoint", details).map_err(|error| error.to_string())?;
        if checkpoint.origins.len() != checkpoint.results.len() {
            return Err("it has results without an origin".to_owned());
        }
        for (place, run) in checkpoint.runs.iter().enumerate() {
            check_phase(place, run)?;
        }
        return Ok(checkpoint);
    }
    proposal::read(details)
}

/// Checks that a run is in a phase in which checkpoints are made. In any other phase it would
/// continue in the middle of a turn, past the checks that precede it.
///
/// # Errors
/// A message with the run and its phase.
fn check_phase(place: usize, run: &SessionRun) -> Result<(), String> {
    match run.state.as_ref().and_then(|state| state.phase.kind_inside_a_turn()) {
        None => Ok(()),
        Some(kind) => Err(format!("its run {place} is in phase {kind:?}, in which no checkpoint is made")),
    }
}

fn warn(ctx: &ActivityContext, why: &str) {
    tracing::warn!(
        activity = ctx.info().activity_type,
        attempt = ctx.info().attempt,
        why,
        "the heartbeat of the previous attempt holds no checkpoint that this build can read: the session starts from \
         the beginning"
    );
}

impl SessionHost {
    /// Restores the state that an earlier attempt has recorded of the run.
    pub(super) fn take_up(&self, begun: &Begun) {
        self.goes_on.store(begun.earlier.state.is_some(), Ordering::Relaxed);
        self.inner.session_writes.store(begun.earlier.session_writes, Ordering::Relaxed);
        if let (Some(memory), Some(items)) = (&self.memory, &begun.earlier.memory) {
            memory.clear();
            memory.add(items.clone());
        }
    }
}

#[cfg(test)]
mod tests;
