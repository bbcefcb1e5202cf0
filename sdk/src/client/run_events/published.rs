//! The deltas that an execution's activities have published to the stream of the workflow.
//!
//! # Design
//! **A delta counts while its call is open.** Anyone who can signal the workflow can publish, a
//! process that was given up may still publish, and a reset repeats the signals of the undone part.
//! So a delta is passed on only between the events that schedule and end its call, and only if no
//! later attempt has begun. A batch that was sent twice counts once.

use std::collections::BTreeMap;

use crate::{
    events::{CallOfRun, delta_of, with_suffix},
    wire::RunEvent,
};

/// The deltas of open calls.
#[derive(Default)]
pub(super) struct PublishedDeltas {
    /// The latest attempt that has published, by the call's id.
    open: BTreeMap<String, u32>,
    /// Number of the latest batch of each publisher.
    publishers: BTreeMap<String, u64>,
    /// The suffix of ids after a reset.
    suffix: String,
    deltas: Vec<RunEvent>,
}

impl PublishedDeltas {
    /// Records that a call was scheduled; `id` is that of its activity.
    pub(super) fn begun(&mut self, id: &str) {
        if let Some(call) = CallOfRun::of(id) {
            self.open.insert(call.id, 0);
        }
    }

    /// Records that a call has ended.
    pub(super) fn ended(&mut self, id: &str) {
        if let Some(call) = CallOfRun::of(id) {
            self.open.remove(&call.id);
        }
    }

    /// Distinguishes all later ids from those of the copy before the reset.
    pub(super) fn after_reset(&mut self, suffix: String) {
        self.suffix = suffix;
    }

    /// Adds the deltas of a batch.
    pub(super) fn batch(&mut self, publisher: String, sequence: u64, deltas: Vec<RunEvent>) {
        if !publisher.is_empty() {
            let latest = self.publishers.entry(publisher).or_default();
            if sequence <= *latest {
                return;
            }
            *latest = sequence;
        }
        for delta in deltas {
            let Some((call, attempt)) = delta_of(&delta.id) else { continue };
            let Some(latest) = self.open.get_mut(call).filter(|latest| attempt >= **latest) else { continue };
            *latest = attempt;
            self.deltas.push(with_suffix(delta, &self.suffix));
        }
    }

    /// Takes the deltas of the latest event.
    pub(super) fn take(&mut self) -> Vec<RunEvent> {
        std::mem::take(&mut self.deltas)
    }
}

#[cfg(test)]
mod tests;
