//! The facts of a session's runs in its checkpoint: for readers outside of the worker, and for the
//! next attempt.
//!
//! # Design
//! **The checkpoint holds facts, since nothing else does.** A reader of the workflow's history sees
//! one activity. Attempts, usage, times and the facts of nested runs cannot be derived from the
//! states of the runs. Content that a state holds is not written again (`events/kept.rs`).
//!
//! **The facts before the state are settled.** The next attempt continues from the state: it keeps
//! the settled facts, and reports the later ones again, with the same ids and in their place.
//!
//! **Facts give way to states.** A session also continues without facts. So all runs together keep
//! [`MAX_FACT_BYTES`] of settled facts, and a checkpoint that would not fit into a heartbeat is
//! written without facts. Failures that another attempt may not have are not written: those of
//! model calls and of runs.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value;
use temporal_agents_core::wire::{
    EventKind, RecordedFailure, RunEvent, RunState, WIRE_VERSION, session_checkpoint::SessionRun,
    session_facts::SessionFacts, size::encoded_len,
};

use super::progress::Progress;
use crate::events::{EventPublisher, EventSink, Facts, RunObserver, restored, shortened, whole};

/// The maximum size of the settled facts of all runs, in bytes of JSON.
const MAX_FACT_BYTES: usize = 256_000;

/// The facts of one run.
pub(super) struct FactLog {
    settled: SessionFacts,
    /// The facts after the state.
    later: Vec<LaterFact>,
}

struct LaterFact {
    event: RunEvent,
    /// `true` if this attempt has reported it; otherwise an earlier one has.
    is_reported: bool,
}

impl FactLog {
    /// Creates the log of a run that has no facts yet.
    fn new(run: &str) -> Self {
        Self { settled: SessionFacts { run: run.to_owned(), ..SessionFacts::default() }, later: Vec::new() }
    }

    /// Continues the log that an earlier attempt has left of a run, with the machine that makes the
    /// next facts; `None` if it has left none that this build can continue.
    fn read(earlier: &SessionRun, run: &str) -> Option<(Self, Facts)> {
        let state = earlier.state.as_deref();
        let mut settled = earlier.facts.clone().filter(|facts| facts.run == run && state.is_some())?;
        let Some(machine) = Facts::continued_from(settled.observed.clone()) else {
            tracing::warn!(run, "the facts of an earlier attempt are dropped: this build cannot continue them");
            return None;
        };
        settled.settled = settled.settled.min(settled.facts.len());
        let facts = settled.facts.split_off(settled.settled);
        let later = SessionFacts { run: run.to_owned(), facts, ..SessionFacts::default() };
        let later = restored(&later, WIRE_VERSION, state).into_iter();
        let later = later.map(|event| LaterFact { event, is_reported: false }).collect();
        Some((Self { settled, later }, machine))
    }

    /// Records a fact after the state. One that an earlier attempt has reported keeps its place,
    /// its time, and the attempts at its call, which a recorded answer does not hold.
    pub(super) fn report(&mut self, event: &mut RunEvent) {
        let is_same = |later: &&mut LaterFact| !later.is_reported && later.event.id == event.id;
        let Some(later) = self.later.iter_mut().find(is_same) else {
            return self.later.push(LaterFact { event: event.clone(), is_reported: true });
        };
        later.is_reported = true;
        if later.event.kind.name() == event.kind.name() {
            event.time.clone_from(&later.event.time);
            if let (Some((number, failure)), Some((earlier, earlier_failure))) =
                (attempts(&mut event.kind), attempts(&mut later.event.kind))
                // An answer from the checkpoint is reported with 0 attempts.
                && *number == 0
            {
                (*number, *failure) = (*earlier, earlier_failure.take());
            }
        }
        later.event = event.clone();
    }

    /// Settles the facts before a state from which the run can continue, and leaves out the content
    /// that the state holds. `before` is the state to which the settled facts refer.
    pub(super) fn settle(&mut self, before: Option<&RunState>, state: &RunState, observed: Value) {
        let Self { settled, later } = self;
        let still_holds = |before: &RunState| before.input == state.input && state.items.starts_with(&before.items);
        // After a compaction, or a handoff that has rewritten the input, content has another place.
        if !before.is_none_or(still_holds) {
            for fact in &mut settled.facts {
                if let Some(event) = whole(fact, &settled.run, WIRE_VERSION, before) {
                    *fact = shortened(&event, &settled.run, Some(state));
                }
            }
        }
        let reported = later.drain(..).filter(|later| later.is_reported);
        settled.facts.extend(reported.map(|later| shortened(&later.event, &settled.run, Some(state))));
        (settled.settled, settled.observed) = (settled.facts.len(), observed);
    }

    /// Returns the facts as a checkpoint holds them.
    pub(super) fn written(&self) -> SessionFacts {
        let mut written = self.settled.clone();
        written.facts.extend(self.final_later().map(|event| shortened(event, &written.run, None)));
        written
    }

    /// Returns the facts as events; `state` is that of the run.
    pub(super) fn events(&self, state: Option<&RunState>) -> Vec<RunEvent> {
        let mut events = self.settled_events(state);
        events.extend(self.final_later().cloned());
        events
    }

    /// Returns the facts after the state that no other attempt can undo.
    fn final_later(&self) -> impl Iterator<Item = &RunEvent> {
        self.later.iter().map(|later| &later.event).filter(|event| !may_pass(&event.kind))
    }

    fn settled_events(&self, state: Option<&RunState>) -> Vec<RunEvent> {
        restored(&self.settled, WIRE_VERSION, state)
    }

    /// Drops facts from the oldest on, until `excess` bytes are free. Returns the rest of `excess`.
    fn drop_oldest(&mut self, excess: usize) -> usize {
        let (mut count, mut freed) = (0, 0);
        while freed < excess && count < self.settled.facts.len() {
            freed += encoded_len(&self.settled.facts[count]).unwrap_or_default();
            count += 1;
        }
        self.settled.facts.drain(..count);
        self.settled.settled = self.settled.facts.len();
        self.settled.dropped = self.settled.dropped.saturating_add(count);
        excess.saturating_sub(freed)
    }
}

/// Returns `true` for a failure that the next attempt may not have: no answer of it is recorded.
fn may_pass(kind: &EventKind) -> bool {
    matches!(kind, EventKind::ModelCallFailed { .. } | EventKind::RunFailed { .. } | EventKind::RunCancelled { .. })
}

/// Returns the attempts at the call of a fact, and the failure of the attempt before the last.
fn attempts(kind: &mut EventKind) -> Option<(&mut u32, &mut Option<RecordedFailure>)> {
    match kind {
        EventKind::ModelCallAnswered { attempts, earlier_failure, .. }
        | EventKind::ModelCallFailed { attempts, earlier_failure, .. }
        | EventKind::ToolOutput { attempts, earlier_failure, .. }
        | EventKind::ToolFailed { attempts, earlier_failure, .. } => Some((attempts, earlier_failure)),
        _ => None,
    }
}

/// Drops settled facts, those of the first run first, until the rest is within [`MAX_FACT_BYTES`].
pub(super) fn make_room(logs: &mut BTreeMap<usize, FactLog>) {
    let size = |log: &FactLog| encoded_len(&log.settled.facts).unwrap_or_default();
    let mut excess = logs.values().map(size).sum::<usize>().saturating_sub(MAX_FACT_BYTES);
    for log in logs.values_mut() {
        excess = log.drop_oldest(excess);
    }
}

/// Returns the publisher of a run's events, which keeps its facts in the progress of the session
/// and continues with those of an earlier attempt. The subscriber and the observer receive these
/// again.
pub(super) fn publisher(
    progress: &Arc<Progress>,
    (ordinal, earlier): (usize, &SessionRun),
    (sink, observer): (Option<EventSink>, Option<RunObserver>),
    run: &str,
) -> Arc<EventPublisher> {
    let (log, machine) = FactLog::read(earlier, run).unwrap_or_else(|| (FactLog::new(run), Facts::default()));
    let repeated =
        if sink.is_some() || observer.is_some() { log.settled_events(earlier.state.as_deref()) } else { Vec::new() };
    progress.keep_facts(ordinal, log);
    let keeper = {
        let progress = Arc::clone(progress);
        Box::new(move |event: &mut RunEvent| progress.report(ordinal, event))
    };
    let publisher = EventPublisher::keeping(run, machine, keeper, sink).with_observer(observer);
    publisher.repeat(repeated);
    Arc::new(publisher)
}

#[cfg(test)]
mod tests;
