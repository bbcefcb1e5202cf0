//! The events of a run on a host without a workflow, passed to a subscriber in the same process.

use std::{
    sync::{Arc, Mutex, PoisonError},
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
    facts: Mutex<Facts>,
    sink: EventSink,
}

impl EventPublisher {
    pub(crate) fn new(run: impl Into<String>, sink: EventSink) -> Self {
        Self { run: run.into(), facts: Mutex::default(), sink }
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
        // Held while the events are passed on, so that no fact overtakes another.
        let mut facts = self.facts.lock().unwrap_or_else(PoisonError::into_inner);
        facts.at(rfc3339(SystemTime::now()));
        observed(&mut facts);
        for event in facts.take() {
            (self.sink)(&event);
        }
    }

    /// Passes a delta of the run at this path to the subscriber.
    pub(crate) fn delta(&self, path: &str, agent: &str, turn: u32, kind: EventKind) {
        let run = self.run_at(path);
        let mut facts = self.facts.lock().unwrap_or_else(PoisonError::into_inner);
        facts.at(rfc3339(SystemTime::now()));
        let event = facts.delta(&run, agent, turn, kind);
        (self.sink)(&event);
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
