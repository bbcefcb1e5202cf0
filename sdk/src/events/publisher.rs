//! The events of a run on a host without a workflow: recorded by a session, passed to a subscriber
//! in the same process, or both.

use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::SystemTime,
};

use prost_types::Timestamp;
use serde_json::Value;
use temporal_agents_core::wire::{EventKind, RecordedFailure, RunEvent};

use super::{Aside, AsideKind, AttemptContext, AttemptOf, Facts, RunObserver, fact_id, lineage};

/// A function that receives the events of runs.
pub(crate) type EventSink = Arc<dyn Fn(&RunEvent) + Send + Sync>;

/// A function that keeps the facts of a run, in order, before its subscriber receives them. It may
/// complete a fact.
pub(crate) type FactKeeper = Box<dyn Fn(&mut RunEvent) + Send + Sync>;

/// The facts of one run, and the functions that keep and receive them.
pub(crate) struct EventPublisher {
    run: String,
    state: Mutex<Published>,
    keeper: Option<FactKeeper>,
    sink: Option<EventSink>,
    /// The trace, beside the subscriber.
    observer: Option<RunObserver>,
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
    /// Creates a publisher for a subscriber, an observer, or both; `None` without any.
    pub(crate) fn of_both(run: &str, sink: Option<EventSink>, observer: Option<RunObserver>) -> Option<Self> {
        let is_wanted = sink.is_some() || observer.is_some();
        is_wanted.then(|| Self { run: run.to_owned(), state: Mutex::default(), keeper: None, sink, observer })
    }

    /// Sets the trace of the run, which may have begun in an earlier attempt.
    pub(crate) fn with_observer(self, observer: Option<RunObserver>) -> Self {
        let publisher = Self { observer, ..self };
        let since = publisher.lock().facts.since();
        if let Some(since) = since {
            publisher.aside("", AsideKind::Earlier { tripped: None }, (since, since), None);
        }
        publisher
    }

    /// Creates a publisher whose facts are kept, with or without a subscriber. It continues from
    /// `facts`.
    pub(crate) fn keeping(run: &str, facts: Facts, keeper: FactKeeper, sink: Option<EventSink>) -> Self {
        let state = Mutex::new(Published { facts, ..Published::default() });
        Self { run: run.to_owned(), state, keeper: Some(keeper), sink, observer: None }
    }

    /// Returns the subscriber, which also receives deltas.
    pub(crate) fn subscriber(&self) -> Option<EventSink> {
        self.sink.clone()
    }

    /// Returns the data that later facts depend on, and with `nested` those of nested runs.
    pub(crate) fn snapshot(&self, nested: bool) -> Value {
        self.lock().facts.snapshot(nested)
    }

    /// Returns `true` if the outermost run waits for decisions.
    pub(crate) fn is_paused(&self) -> bool {
        self.lock().facts.is_paused(&self.run)
    }

    /// Passes facts of an earlier attempt to the subscriber, which were kept before.
    pub(crate) fn repeat(&self, earlier: Vec<RunEvent>) {
        let mut state = self.lock();
        state.queue.extend(earlier);
        self.pass_on(state);
    }

    /// Returns the prefix of the effects of the run at this path.
    pub(crate) fn run_at(&self, path: &str) -> String {
        format!("{}-{path}", self.run).trim_end_matches('-').to_owned()
    }

    /// Returns the id of an effect, as if it were an activity of a workflow.
    pub(crate) fn id(&self, effect: &str) -> String {
        format!("{}-{effect}", self.run)
    }

    /// Returns the receiver of facts and attempts, which needs no other delta.
    fn observed(&self) -> Option<&EventSink> {
        self.observer.as_ref()?.sink.as_ref()
    }

    /// Returns the context of the code of an attempt at an effect of the run at this path; `None`
    /// in a run without traces.
    pub(crate) fn context(&self, path: &str, effect: &str, attempt: u32) -> Option<AttemptContext> {
        let observer = self.observer.as_ref()?;
        let call = fact_id(&self.run_at(path), effect);
        Some((observer.contexts)(AttemptOf { run: &self.run, call: &call, attempt }))
    }

    /// Returns `true` if the observer receives effects that no fact reports.
    pub(crate) fn receives_asides(&self) -> bool {
        self.observer.as_ref().is_some_and(|observer| observer.asides.is_some())
    }

    /// Passes on an effect of the run at this path that no fact reports.
    pub(crate) fn aside(
        &self,
        path: &str,
        kind: AsideKind<'_>,
        times: (SystemTime, SystemTime),
        failure: Option<RecordedFailure>,
    ) {
        if let Some(asides) = self.observer.as_ref().and_then(|observer| observer.asides.as_ref()) {
            let path = lineage(&self.run_at(path)).1;
            self.lock().facts.begins_by(times.0);
            asides(&Aside { run: &self.run, path, kind, times, failure });
        }
    }

    /// Passes an observation to the facts, and the facts that follow from it to the keeper and the
    /// subscriber.
    pub(crate) fn observe(&self, observed: impl FnOnce(&mut Facts)) {
        self.publish(|facts| {
            observed(facts);
            facts.take()
        });
    }

    /// Passes a delta of the run at this path to the subscriber.
    pub(crate) fn delta(&self, path: &str, agent: &str, turn: u32, kind: EventKind) {
        let is_attempt = matches!(kind, EventKind::AttemptDelta { .. });
        if self.sink.is_some() || (is_attempt && self.observed().is_some()) {
            let run = self.run_at(path);
            self.publish(|facts| vec![facts.delta(&run, agent, turn, kind)]);
        }
    }

    /// Makes events at the current time, keeps the facts among them, and passes all of them on.
    fn publish(&self, events: impl FnOnce(&mut Facts) -> Vec<RunEvent>) {
        let mut state = self.lock();
        state.facts.at(rfc3339(SystemTime::now()));
        let mut events = events(&mut state.facts);
        if let Some(keeper) = &self.keeper {
            // Within the lock: what is kept must not lag behind a snapshot.
            events.iter_mut().filter(|event| !event.is_delta()).for_each(keeper);
        }
        state.queue.extend(events);
        self.pass_on(state);
    }

    /// Passes the queue to the subscriber, outside of the lock: it may itself cause events, which
    /// then follow.
    fn pass_on<'s>(&'s self, mut state: MutexGuard<'s, Published>) {
        if self.sink.is_none() && self.observed().is_none() {
            state.queue.clear();
            return;
        }
        if std::mem::replace(&mut state.is_busy, true) {
            return;
        }
        while let Some(event) = state.queue.pop_front() {
            drop(state);
            // A subscriber must not change the run, also not by a panic.
            for sink in [self.observed(), self.sink.as_ref()].into_iter().flatten() {
                if catch_unwind(AssertUnwindSafe(|| sink(&event))).is_err() {
                    tracing::warn!(kind = event.kind.name(), id = event.id, "the function on_event panicked");
                }
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
