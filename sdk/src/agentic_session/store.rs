//! The store for checkpoints that are too large for a heartbeat.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::Value;
use temporal_agents_core::{
    tool::BoxError,
    wire::{
        KeptCheckpoint, decode,
        digest::Digest,
        session_checkpoint::{KeptAs, SESSION_FORMAT},
        size::MOST_BYTES,
    },
};

use super::error::CheckpointError;

/// A store for checkpoints that are too large for a heartbeat: a bucket, a table, or a directory
/// that all workers can access.
///
/// # Retries
/// None: a session whose checkpoint cannot be kept fails, and its activity is retried from the
/// previous checkpoint.
pub trait CheckpointStore: Send + Sync {
    /// Keeps a checkpoint, a JSON string, under a unique key.
    ///
    /// # Errors
    /// Any error of the store; the session fails.
    fn put<'a>(&'a self, key: &'a str, checkpoint: String) -> BoxFuture<'a, Result<(), BoxError>>;

    /// Returns the checkpoint under this key, or `None` if it is no longer there.
    ///
    /// # Errors
    /// Any error of the store; the attempt fails, and the next one requests the checkpoint again.
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<String>, BoxError>>;

    /// Deletes a checkpoint that a newer one has replaced. Called once the server has the newer
    /// one. A checkpoint that a crash leaves behind is never deleted, so let checkpoints expire:
    /// later than the activity's schedule-to-close timeout, since a session that waits for approval
    /// writes nothing.
    fn remove<'a>(&'a self, key: &'a str) -> BoxFuture<'a, ()>;
}

/// The destination of a session's checkpoints.
#[derive(Clone)]
pub(super) struct Storage {
    pub(super) store: Option<Arc<dyn CheckpointStore>>,
    /// Size in bytes above which a checkpoint is written to the store.
    pub(super) spill_over: usize,
    /// Prefix of the keys of this session.
    pub(super) scope: String,
    pub(super) attempt: u32,
}

/// The checkpoints of a session that are in the store.
#[derive(Default)]
pub(super) struct Kept {
    number: u32,
    current: Option<String>,
    older: Vec<String>,
}

impl Storage {
    /// Returns the details of the heartbeat: the checkpoint itself, or a reference to it in the
    /// store.
    ///
    /// # Errors
    /// [`CheckpointError::Store`].
    pub(super) async fn fit(&self, json: String, kept: &mut Kept) -> Result<String, CheckpointError> {
        kept.older.extend(kept.current.take());
        let Some(store) = self.store.as_ref().filter(|_| json.len() > self.spill_over) else { return Ok(json) };
        kept.number += 1;
        let key = format!("{}-{}-{}", self.scope, self.attempt, kept.number);
        let kept_as = KeptAs { key: key.clone(), bytes: json.len(), digest: Digest::of_text(&json) };
        store.put(&key, json).await.map_err(|source| CheckpointError::Store { verb: "written to", source })?;
        kept.current = Some(key);
        serde_json::to_string(&KeptCheckpoint::new(kept_as))
            .map_err(|source| CheckpointError::NotSerializable { source })
    }

    /// Returns the size in bytes above which a checkpoint does not go into a heartbeat.
    pub(super) fn heartbeat_limit(&self) -> usize {
        if self.store.is_some() { self.spill_over } else { MOST_BYTES }
    }

    /// `true` if [`fit`](Self::fit) could have created this key: the scope, the attempt and a
    /// number.
    fn is_own(&self, key: &str) -> bool {
        let numbers = key.strip_prefix(&*self.scope).and_then(|rest| rest.strip_prefix('-')?.split_once('-'));
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        numbers.is_some_and(|(attempt, number)| is_number(attempt) && is_number(number))
    }

    /// Deletes all checkpoints that newer ones have replaced, except the latest of them: a
    /// heartbeat that refers to it may still be in flight.
    pub(super) async fn remove_replaced(&self, kept: &mut Kept) {
        let Some(store) = &self.store else { return };
        let but_for_one = kept.older.len().saturating_sub(1);
        for key in kept.older.drain(..but_for_one) {
            store.remove(&key).await;
        }
    }

    /// Returns the checkpoint of a heartbeat, read from the store if the heartbeat refers to it.
    ///
    /// # Errors
    /// [`CheckpointError::Foreign`] when the reference is not a key of this session,
    /// [`CheckpointError::Absent`] when the checkpoint is not there, and [`CheckpointError::Store`]
    /// when the store fails or the checkpoint is not the one that was written.
    pub(super) async fn fetch(&self, details: Value) -> Result<Value, CheckpointError> {
        let is_ours = details.get("format").and_then(Value::as_str) == Some(SESSION_FORMAT);
        if !is_ours || details.get("kept").is_none() {
            return Ok(details);
        }
        // The reader of checkpoints refuses other versions.
        let Ok(KeptCheckpoint { format: _, version: _, kept }) = decode("kept checkpoint", details.clone()) else {
            return Ok(details);
        };
        // Anyone who may send heartbeats may have written this one; the store is not asked for a
        // key that does not belong to this session.
        if !self.is_own(&kept.key) {
            return Err(CheckpointError::Foreign { key: kept.key });
        }
        let failed = |source: BoxError| CheckpointError::Store { verb: "read from", source };
        let store = self.store.as_ref().ok_or_else(|| {
            failed("the checkpoint is in a store, and the session has none: set .checkpoint_store(..)".into())
        })?;
        let json = store.get(&kept.key).await.map_err(failed)?;
        let json = json.ok_or_else(|| CheckpointError::Absent { key: kept.key.clone() })?;
        if Digest::of_text(&json) != kept.digest {
            return Err(failed(format!("checkpoint {:?} does not match its digest", kept.key).into()));
        }
        serde_json::from_str(&json).map_err(|error| failed(error.into()))
    }
}

#[cfg(test)]
mod tests;
