//! The deltas of a workflow's open calls that a transport takes outside of Temporal.
//!
//! # Design
//! **A call is read while it is open** according to the server, and from the oldest delta that the
//! transport holds: a reader that begins in the middle of a message receives its beginning. What
//! was read is held here for later subscribers of the process, up to [`MAX_HELD_BYTES`] a call.

use std::{
    collections::{BTreeMap, VecDeque},
    future::{pending, poll_fn},
    sync::Arc,
    task::Poll,
};

use futures::{StreamExt, stream::BoxStream};
use temporal_agents_core::wire::{RunEvent, size::encoded_len};
use temporalio_client::{Client, NamespacedClient};

use super::{
    attempts::{OpenAttempt, OpenAttempts},
    delta_reader::{DeltaCall, DeltaReader},
};
use crate::events::delta_of;

/// The maximum size of the deltas of a call that are held, in bytes of JSON. A subscriber that
/// begins later than that receives none of the attempt.
const MAX_HELD_BYTES: usize = 1_000_000;

/// The readers of a workflow's open calls.
pub(super) struct OutsideDeltas {
    reader: Option<Arc<dyn DeltaReader>>,
    client: Client,
    workflow_id: String,
    /// Temporal's run id of the execution that makes the calls.
    execution: String,
    calls: BTreeMap<String, CallReader>,
}

struct CallReader {
    batches: BoxStream<'static, Vec<RunEvent>>,
    held: HeldDeltas,
}

/// The latest deltas of a call that were read: of one attempt, without a hole.
#[derive(Clone, Debug, Default)]
pub(super) struct HeldDeltas {
    /// Number of the attempt; 0 before the first delta.
    pub(super) attempt: u32,
    /// The batches, each with the number of its first delta and its size.
    batches: VecDeque<(u64, Arc<[RunEvent]>, usize)>,
    bytes: usize,
    /// Number of the next delta.
    next: u64,
}

impl OutsideDeltas {
    pub(super) fn new(reader: Option<Arc<dyn DeltaReader>>, client: &Client, workflow_id: &str) -> Self {
        let (client, workflow_id) = (client.clone(), workflow_id.to_owned());
        Self { reader, client, workflow_id, execution: String::new(), calls: BTreeMap::new() }
    }

    /// Returns `true` if there is a reader.
    pub(super) fn is_read(&self) -> bool {
        self.reader.is_some()
    }

    /// Ends all readers.
    pub(super) fn clear(&mut self) {
        self.calls.clear();
    }

    /// Begins to read calls that are open, and ends the readers of the others.
    pub(super) fn follow(&mut self, open: &OpenAttempts) {
        let Some(reader) = &self.reader else { return };
        if self.execution != open.execution {
            self.calls.clear();
            self.execution.clone_from(&open.execution);
        }
        let is_read = |attempt: &&OpenAttempt| !attempt.is_of_session;
        self.calls.retain(|call, _| open.attempts.iter().filter(is_read).any(|attempt| attempt.call == *call));
        for OpenAttempt { call, .. } in open.attempts.iter().filter(is_read) {
            self.calls.entry(call.clone()).or_insert_with(|| {
                let call = DeltaCall {
                    namespace: self.client.namespace(),
                    workflow_id: self.workflow_id.clone(),
                    run_id: self.execution.clone(),
                    id: call.clone(),
                    converter: self.client.data_converter().clone(),
                };
                CallReader { batches: reader.read(call).fuse().boxed(), held: HeldDeltas::default() }
            });
        }
    }

    /// Waits for the next batch of any call. No batch is lost if the future is dropped.
    pub(super) async fn changed(&mut self) {
        if self.calls.is_empty() {
            return pending().await;
        }
        poll_fn(|cx| {
            let mut has_changed = false;
            for (call, CallReader { batches, held }) in &mut self.calls {
                if let Poll::Ready(Some(batch)) = batches.poll_next_unpin(cx) {
                    held.add(call, batch);
                    has_changed = true;
                }
            }
            if has_changed { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    /// Returns the attempts with the deltas that were read.
    pub(super) fn with(&self, attempts: &[OpenAttempt]) -> Vec<OpenAttempt> {
        let with_deltas = |attempt: &OpenAttempt| {
            let outside = self.calls.get(&attempt.call).map(|call| call.held.clone());
            OpenAttempt { outside: outside.unwrap_or_default(), ..attempt.clone() }
        };
        attempts.iter().map(with_deltas).collect()
    }
}

impl HeldDeltas {
    /// Adds a batch of this call; what was added before, and what an earlier attempt sends, is
    /// skipped.
    pub(super) fn add(&mut self, call: &str, batch: Vec<RunEvent>) {
        let (mut first, mut added) = (self.next, Vec::new());
        for delta in batch {
            let Some((of_call, attempt, number)) = delta_of(&delta.id) else { continue };
            if of_call != call || !delta.is_delta() || (attempt, number) < (self.attempt, self.next) {
                continue;
            }
            if (attempt, number) != (self.attempt, self.next) {
                // A new attempt, or a hole: what was held is of no use to later subscribers.
                *self = Self { attempt, next: number, ..Self::default() };
                (first, added) = (number, Vec::new());
            }
            self.next = number + 1;
            added.push(delta);
        }
        if added.is_empty() {
            return;
        }
        let bytes = encoded_len(&added).unwrap_or_default();
        self.bytes += bytes;
        self.batches.push_back((first, added.into(), bytes));
        while self.bytes > MAX_HELD_BYTES
            && let Some((_, _, bytes)) = self.batches.pop_front()
        {
            self.bytes -= bytes;
        }
    }

    /// Returns the number of the first delta that is held.
    pub(super) fn first(&self) -> u64 {
        self.batches.front().map_or(self.next, |(first, ..)| *first)
    }

    /// Returns the deltas from this number on, with their numbers.
    pub(super) fn since(&self, number: u64) -> impl Iterator<Item = (u64, &RunEvent)> {
        let later = self.batches.iter().filter(move |(first, batch, _)| first + batch.len() as u64 > number);
        later.flat_map(|(first, batch, _)| (*first..).zip(&**batch))
    }
}

#[cfg(test)]
mod tests;
