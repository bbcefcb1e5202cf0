//! Where checkpoints go that are too large for a heartbeat.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::Value;

use super::error::CheckpointError;
use crate::{
    tool::Failure,
    wire::{
        Digest, KeptCheckpoint, decode,
        session_checkpoint::{KeptAs, SESSION_FORMAT},
    },
};

/// A store for checkpoints that are too large for a heartbeat: a bucket, a table, a directory that all workers see.
///
/// # Retries
/// None here: a session whose checkpoint cannot be kept fails, and its activity is retried from the checkpoint before.
pub trait CheckpointStore: Send + Sync {
    /// Keeps a checkpoint, JSON text, under a key that no other has.
    ///
    /// # Errors
    /// Whatever went wrong.
    fn put<'a>(&'a self, key: &'a str, checkpoint: String) -> BoxFuture<'a, Result<(), Failure>>;

    /// The checkpoint under this key; none, if it is not there any more.
    ///
    /// # Errors
    /// Whatever went wrong; the attempt then fails, and another one asks again.
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<String>, Failure>>;

    /// Drops a checkpoint that a newer one has replaced. Called once the server has the newer one; one that a crash leaves behind is never
    /// dropped, so let them expire: later than the activity's schedule-to-close timeout, since a session that waits for people writes nothing.
    fn remove<'a>(&'a self, key: &'a str) -> BoxFuture<'a, ()>;
}

/// Where a session's checkpoints go.
#[derive(Clone)]
pub(super) struct Storage {
    pub(super) store: Option<Arc<dyn CheckpointStore>>,
    /// Larger ones go to the store.
    pub(super) spill_over: usize,
    /// What the keys of this session begin with.
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
    /// What goes into the heartbeat: the checkpoint, or where it is kept.
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
        serde_json::to_string(&KeptCheckpoint::new(kept_as)).map_err(|source| CheckpointError::Unwritable { source })
    }

    /// Whether this is a key as [`fit`](Self::fit) makes them: the scope, the attempt and a number.
    fn is_own(&self, key: &str) -> bool {
        let numbers = key.strip_prefix(&*self.scope).and_then(|rest| rest.strip_prefix('-')?.split_once('-'));
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        numbers.is_some_and(|(attempt, number)| is_number(attempt) && is_number(number))
    }

    /// Drops what newer checkpoints have replaced, but for the one before: a heartbeat with it may still be on its way.
    pub(super) async fn drop_older(&self, kept: &mut Kept) {
        let Some(store) = &self.store else { return };
        let but_for_one = kept.older.len().saturating_sub(1);
        for key in kept.older.drain(..but_for_one) {
            store.remove(&key).await;
        }
    }

    /// What a heartbeat stands for, where it says that its checkpoint is in the store.
    ///
    /// # Errors
    /// [`CheckpointError::Foreign`] when it is not a key of this session, [`CheckpointError::Absent`] and [`CheckpointError::Store`] when it
    /// is not there, or not what it was.
    pub(super) async fn fetch(&self, details: Value) -> Result<Value, CheckpointError> {
        let is_ours = details.get("format").and_then(Value::as_str) == Some(SESSION_FORMAT);
        if !is_ours || details.get("kept").is_none() {
            return Ok(details);
        }
        // One of another version is for the reader of checkpoints to refuse.
        let Ok(KeptCheckpoint { format: _, version: _, kept }) = decode("kept checkpoint", details.clone()) else {
            return Ok(details);
        };
        // A heartbeat is written by whoever may send one; the store is asked for nothing that is not this session's.
        if !self.is_own(&kept.key) {
            return Err(CheckpointError::Foreign { key: kept.key });
        }
        let failed = |source: Failure| CheckpointError::Store { verb: "read from", source };
        let store = self.store.as_ref().ok_or_else(|| {
            failed("the checkpoint is in a store, and the session has none: give it .checkpoint_store(..)".into())
        })?;
        let json = store.get(&kept.key).await.map_err(failed)?;
        let json = json.ok_or_else(|| CheckpointError::Absent { key: kept.key.clone() })?;
        if Digest::of_text(&json) != kept.digest {
            return Err(failed(format!("checkpoint {:?} is not what was written", kept.key).into()));
        }
        serde_json::from_str(&json).map_err(|error| failed(error.into()))
    }
}

#[cfg(test)]
mod tests;
