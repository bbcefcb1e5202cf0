//! Encodes the progress of a session as the details of a heartbeat, in the format of its options.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use temporal_agents_core::wire::{
    SessionCheckpoint,
    size::{Bytes, MOST_BYTES},
};
use temporalio_common::{data_converters::RawValue, protos::temporal::api::common::v1::Payload};

use super::{
    error::CheckpointError,
    format::{CheckpointFormat, ProposalForm},
    progress::Progress,
    proposal,
    store::{Kept, Storage},
};

/// Encodes the checkpoints of a session.
pub(super) struct Encoder {
    progress: Arc<Progress>,
    format: CheckpointFormat,
    storage: Storage,
    is_near_limit: AtomicBool,
    has_omitted: AtomicBool,
}

/// The details of a heartbeat.
pub(super) struct Encoded {
    pub(super) details: RawValue,
    /// The number of the latest change in them.
    pub(super) change: u64,
}

impl Encoder {
    pub(super) fn new(progress: Arc<Progress>, format: CheckpointFormat, storage: Storage) -> Self {
        Self { progress, format, storage, is_near_limit: AtomicBool::new(false), has_omitted: AtomicBool::new(false) }
    }

    /// Returns the details of a heartbeat: the checkpoint, or a reference to it in the store.
    /// `None` if there is nothing to write yet, so that the earlier details are still valid.
    ///
    /// # Errors
    /// [`CheckpointError`]: the checkpoint is too large, or is not JSON, or cannot be stored.
    pub(super) async fn encode(&self, kept: &mut Kept) -> Result<Option<Encoded>, CheckpointError> {
        let encoded = match self.format.proposal() {
            None => Some(self.native(kept).await?),
            Some(form) => self.proposal(form)?,
        };
        Ok(encoded.map(|(json, change)| Encoded { details: json_payload(json), change }))
    }

    /// Deletes the stored checkpoints that newer ones have replaced.
    pub(super) async fn remove_replaced(&self, kept: &mut Kept) {
        self.storage.remove_replaced(kept).await;
    }

    async fn native(&self, kept: &mut Kept) -> Result<(String, u64), CheckpointError> {
        let (mut picture, change) = self.progress.picture();
        let mut json = encoded(&picture)?;
        if json.len() > self.storage.heartbeat_limit() {
            picture.runs.iter_mut().for_each(|run| run.facts = None);
            let without_facts = encoded(&picture)?;
            // A checkpoint that is stored anyway has room for the facts.
            if self.storage.store.is_none() || without_facts.len() <= self.storage.spill_over {
                json = without_facts;
            }
        }
        let json = self.storage.fit(json, kept).await?;
        let (bytes, limit, turns) = (json.len(), MOST_BYTES, picture.turns);
        if bytes > limit {
            return Err(CheckpointError::TooLarge { bytes, limit, turns });
        }
        self.warn_near_limit(bytes, turns, "set a compaction for the run, or a checkpoint store for the session");
        Ok((json, change))
    }

    fn proposal(&self, form: ProposalForm) -> Result<Option<(String, u64)>, CheckpointError> {
        let Some((conversation, change)) = self.progress.conversation() else { return Ok(None) };
        let proposal::Written { details, omitted } = proposal::write(&conversation.items, &conversation.results, form);
        if !omitted.is_empty() && !self.has_omitted.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                ?omitted,
                "the checkpoint leaves out parts of the conversation that its messages have no form for: another \
                 attempt continues without them"
            );
        }
        let json = details.to_string();
        let (bytes, limit, turns) = (json.len(), MOST_BYTES, conversation.turns);
        if bytes > limit {
            return Err(CheckpointError::TooLargeToHandOver { bytes, limit, turns });
        }
        self.warn_near_limit(bytes, turns, "set a compaction for the run");
        Ok(Some((json, change)))
    }

    fn warn_near_limit(&self, bytes: usize, turns: u32, remedy: &str) {
        if bytes > MOST_BYTES / 4 * 3 && !self.is_near_limit.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                size = %Bytes(bytes),
                limit = %Bytes(MOST_BYTES),
                turns,
                "the session's checkpoint approaches the limit of a heartbeat; {remedy}"
            );
        }
    }
}

/// Returns a checkpoint as JSON.
fn encoded(checkpoint: &SessionCheckpoint) -> Result<String, CheckpointError> {
    serde_json::to_string(checkpoint).map_err(|source| CheckpointError::NotSerializable { source })
}

/// Returns a JSON string as a payload, in the form that the SDK's own converter writes.
fn json_payload(json: String) -> RawValue {
    let metadata = [("encoding".to_owned(), b"json/plain".to_vec())].into_iter().collect();
    RawValue::new(vec![Payload { metadata, data: json.into_bytes(), ..Payload::default() }])
}
