//! The deltas that an execution's activities have published to the stream of the workflow.
//!
//! # Design
//! **A delta counts while its call is open.** Anyone who can signal the workflow can publish, a
//! process that was given up may still publish, and a reset repeats the signals of the undone part.
//! So a delta is passed on only between the events that schedule and end its call, and only if no
//! later attempt has begun. A batch that was sent twice counts once.

use std::collections::BTreeMap;

use temporal_agents_core::wire::{EventKind, RunEvent};

use crate::events::{CallOfRun, Role, attempt_id, delta_of, fact_id, lineage, with_suffix};

/// Maximum number of attempts that a delta may be ahead of those that were observed: a worker whose
/// attempt has begun no delta leaves a gap.
const MAX_MISSED_ATTEMPTS: u32 = 1_000;

/// The deltas of open calls.
#[derive(Default)]
pub(super) struct PublishedDeltas {
    /// The calls, by id.
    open: BTreeMap<String, OpenCall>,
    /// Number of the latest batch of each publisher.
    publishers: BTreeMap<String, u64>,
    /// The suffix of ids after a reset.
    suffix: String,
    deltas: Vec<RunEvent>,
}

/// A call that has not ended.
struct OpenCall {
    /// The run, and the calls in which it runs.
    run: String,
    path: Vec<String>,
    turn: u32,
    /// Prefix of the ids of the items that a model call makes.
    items: String,
    /// Id of the tool call; empty for a model call.
    call_id: String,
    /// The latest attempt that has published.
    attempt: u32,
}

impl PublishedDeltas {
    /// Records that a call was scheduled; `id` is that of its activity, `call_id` that of a tool
    /// call.
    pub(super) fn begun(&mut self, id: &str, call_id: &str) {
        let Some(call) = CallOfRun::of(id) else { return };
        if let Role::Model { turn } | Role::Tool { turn, .. } = call.place.role {
            let (run, path) = lineage(call.place.run);
            let items = fact_id(call.place.run, &format!("{turn}-model/"));
            self.open.insert(call.id, OpenCall { run, path, turn, items, call_id: call_id.to_owned(), attempt: 0 });
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
        for mut delta in deltas {
            let Some((id, attempt, number)) = delta_of(&delta.id) else { continue };
            let Some(call) = self.open.get_mut(id) else { continue };
            if !call.has_made(attempt, &delta.kind) {
                continue;
            }
            call.attempt = attempt;
            (delta.run, delta.path, delta.turn) = (call.run.clone(), call.path.clone(), call.turn);
            delta.workflow = None;
            delta.id = format!("{}.{number}", attempt_id(id, attempt));
            self.deltas.push(with_suffix(delta, &self.suffix));
        }
    }

    /// Takes the deltas of the latest event.
    pub(super) fn take(&mut self) -> Vec<RunEvent> {
        std::mem::take(&mut self.deltas)
    }
}

impl OpenCall {
    /// Returns `true` if this attempt at the call can have made a delta of this kind.
    fn has_made(&self, attempt: u32, kind: &EventKind) -> bool {
        let fits = match kind {
            EventKind::TextDelta { message_id, attempt: of, .. }
            | EventKind::ReasoningDelta { message_id, attempt: of, .. }
            | EventKind::ToolArgumentsDelta { message_id, attempt: of, .. } => {
                *of == attempt && message_id.starts_with(&self.items)
            }
            EventKind::AttemptDelta { attempt: of, failure, .. } => *of == attempt && failure.is_none(),
            EventKind::ToolOutputDelta { call_id, .. } | EventKind::EmittedDelta { call_id, .. } => {
                *call_id == self.call_id
            }
            _ => true,
        };
        fits && (self.attempt..=self.attempt.saturating_add(MAX_MISSED_ATTEMPTS)).contains(&attempt)
    }
}

#[cfg(test)]
mod tests;
