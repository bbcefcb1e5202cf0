//! The events of a run on a host without a workflow, passed to a subscriber in the same process.

use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::SystemTime,
};

use prost_types::Timestamp;

use super::Facts;
use crate::wire::{EventKind, RunEvent};

/// A function that receives the events of runs.
pub(crate) type EventSink = Arc<dyn Fn(&RunEvent) + Send + Sync>;

/// The facts of one run, and the function that receives them.
pub(crate) struct EventPublisher {
    run: String,
    state: Mutex<Published>,
    sink: EventSink,
}

/// The facts so far, and the events that the subscriber has not received.
#[derive(Default)]
struct Published {
    facts: Facts,
    queue: VecDeque<RunEvent>,
    /// `true` while one caller passes on the queue, so that no event overtakes another.
    is_busy: bool,
}

impl EventPublisher {
    pub(crate) fn new(run: impl Into<String>, sink: EventSink) -> Self {
        Self { run: run.into(), state: Mutex::default(), sink }
    }

    /// Returns the prefix of the effects of the run at this path.
    pub(crate) fn run_at(&self, path: &str) -> String {
        format!("{}-{path}", self.run).trim_end_matches('-').to_owned()
    }

    /// Returns the id of an effect, as if it were an activity of a workflow.
    pub(crate) fn id(&self, effect: &str) -> String {
        format!("{}-{effect}", self.run)
    }

    /// Passes what was observed to the facts, and the facts that follow to the subscriber.
    pub(crate) fn observe(&self, observed: impl FnOnce(&mut Facts)) {
        self.publish(|facts| {
            observed(facts);
            facts.take()
        });
    }

    /// Passes a delta of the run at this path to the subscriber.
    pub(crate) fn delta(&self, path: &str, agent: &str, turn: u32, kind: EventKind) {
        let run = self.run_at(path);
        self.publish(|facts| vec![facts.delta(&run, agent, turn, kind)]);
    }

    /// Passes the events on, outside of the lock: the subscriber may itself cause events, which
    /// then follow.
    fn publish(&self, events: impl FnOnce(&mut Facts) -> Vec<RunEvent>) {
        let mut state = self.lock();
        state.facts.at(rfc3339(SystemTime::now()));
        let events = events(&mut state.facts);
        state.queue.extend(events);
        if std::mem::replace(&mut state.is_busy, true) {
            return;
        }
        while let Some(event) = state.queue.pop_front() {
            drop(state);
            // A subscriber must not change the run, also not by a panic.
            if catch_unwind(AssertUnwindSafe(|| (self.sink)(&event))).is_err() {
                tracing::warn!(kind = event.kind.name(), id = event.id, "the function on_event panicked");
            }
            state = self.lock();
        }
        state.is_busy = false;
    }

    fn lock(&self) -> MutexGuard<'_, Published> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Formats a time (RFC 3339, UTC).
pub(crate) fn rfc3339(time: SystemTime) -> String {
    Timestamp::from(time).to_string()
}

impl std::fmt::Debug for EventPublisher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EventPublisher").field("run", &self.run).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
