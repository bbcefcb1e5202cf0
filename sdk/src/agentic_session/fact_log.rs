//! The facts of a session's runs in its checkpoint: for readers outside of the worker, and for the
//! subscriber of the next attempt.
//!
//! # Design
//! **The checkpoint holds facts, since nothing else does.** A reader of the workflow's history sees
//! one activity. From the states of the runs alone, attempts, usage, times and the facts of nested
//! runs could not be told. Content that a state holds is not written again (`events/kept.rs`).
//!
//! **The facts before the state are settled.** The next attempt continues from the state: it keeps
//! the settled facts, and reports the later ones again, with the same ids.
//!
//! **Facts give way to states.** Without facts a session continues as well. So all runs together
//! keep [`MAX_FACT_BYTES`], and drop the oldest; a checkpoint that is too large drops them all. The
//! failure of a run is not kept: another attempt makes the run again.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Map, Value};

use super::progress::Progress;
use crate::{
    events::{FactKeeper, Facts, shortened, whole},
    wire::{
        EventKind, RecordedFailure, RunEvent, RunState, WIRE_VERSION, session_checkpoint::SessionRun,
        session_facts::SessionFacts, size::encoded_len,
    },
};

/// The maximum size of the facts of all runs, in bytes of JSON.
const MAX_FACT_BYTES: usize = 256_000;

/// The facts that an earlier attempt has left of a run.
pub(super) struct EarlierFacts {
    /// The machine that makes the next facts.
    pub(super) machine: Facts,
    /// The settled facts in the kept form, to continue with.
    pub(super) kept: SessionFacts,
    /// The settled facts.
    pub(super) settled: Vec<RunEvent>,
    /// The facts after the state, by id. This attempt reports them again.
    pub(super) later: BTreeMap<String, RunEvent>,
}

impl EarlierFacts {
    /// Reads the facts that an earlier attempt has left of a run; `None` if it has left none that
    /// this build can continue with.
    pub(super) fn read(earlier: &SessionRun, run: &str) -> Option<Self> {
        let state = earlier.state.as_deref();
        let mut kept = earlier.facts.clone().filter(|facts| facts.run == run && state.is_some())?;
        let machine = serde_json::from_value(kept.observed.clone()).ok()?;
        kept.settled = kept.settled.min(kept.facts.len());
        let later = kept.facts.split_off(kept.settled);
        let settled = events(&kept, &kept.facts, state);
        let later = events(&kept, &later, state).into_iter().map(|event| (event.id.clone(), event)).collect();
        Some(Self { machine, kept, settled, later })
    }
}

/// Returns the function that keeps the facts of a run in the progress of its session.
pub(super) fn keeper(progress: &Arc<Progress>, run: usize, later: BTreeMap<String, RunEvent>) -> FactKeeper {
    let progress = Arc::clone(progress);
    Box::new(move |event| {
        complete(event, &later);
        if !matches!(event.kind, EventKind::RunFailed { .. } | EventKind::RunCancelled { .. }) {
            progress.told(run, event);
        }
    })
}

/// Completes a fact that an earlier attempt has reported: its time, and the attempts at the call,
/// which a recorded answer does not hold.
fn complete(event: &mut RunEvent, later: &BTreeMap<String, RunEvent>) {
    let Some(earlier) = later.get(&event.id).filter(|earlier| earlier.kind.name() == event.kind.name()) else { return };
    event.time.clone_from(&earlier.time);
    if let (Some((number, failure)), Some((earlier_number, earlier_failure))) =
        (attempts(&mut event.kind), attempts(&mut earlier.kind.clone()))
        && *number == 0
    {
        *number = *earlier_number;
        failure.clone_from(earlier_failure);
    }
}

fn attempts(kind: &mut EventKind) -> Option<(&mut u32, &mut Option<RecordedFailure>)> {
    match kind {
        EventKind::ModelCallAnswered { attempts, earlier_failure, .. }
        | EventKind::ModelCallFailed { attempts, earlier_failure, .. }
        | EventKind::ToolOutput { attempts, earlier_failure, .. }
        | EventKind::ToolFailed { attempts, earlier_failure, .. } => Some((attempts, earlier_failure)),
        _ => None,
    }
}

/// Settles the facts before a state from which the run can continue: leaves out the content that the
/// state holds. `before` is the state to which the settled facts refer.
pub(super) fn settle(facts: &mut SessionFacts, before: Option<&RunState>, state: &RunState, observed: Value) {
    let still_holds = |before: &RunState| before.input == state.input && state.items.starts_with(&before.items);
    // After a compaction, or a handoff that has rewritten the input, content has another place.
    let from = if before.is_none_or(still_holds) { facts.settled } else { 0 };
    for fact in &mut facts.facts[from..] {
        if let Some(event) = whole(fact, &facts.run, WIRE_VERSION, before) {
            *fact = shortened(&event, &facts.run, Some(state));
        }
    }
    (facts.settled, facts.observed) = (facts.facts.len(), observed);
}

/// Drops the oldest facts of the runs, until all have room.
pub(super) fn make_room(runs: &mut [SessionRun]) {
    let size = |facts: &SessionFacts| encoded_len(&facts.facts).unwrap_or_default();
    let mut excess =
        runs.iter().filter_map(|run| run.facts.as_ref()).map(size).sum::<usize>().saturating_sub(MAX_FACT_BYTES);
    for facts in runs.iter_mut().filter_map(|run| run.facts.as_mut()) {
        if excess == 0 {
            return;
        }
        let mut freed = 0;
        let count = facts.facts[..facts.settled].iter().take_while(|fact| {
            let is_needed = freed < excess;
            freed += encoded_len(fact).unwrap_or_default();
            is_needed
        });
        let count = count.count();
        facts.facts.drain(..count);
        facts.settled -= count;
        facts.dropped += count;
        excess = excess.saturating_sub(freed);
    }
}

/// Returns the facts of a run as events.
pub(super) fn kept_facts(run: &SessionRun) -> Vec<RunEvent> {
    let Some(facts) = &run.facts else { return Vec::new() };
    events(facts, &facts.facts, run.state.as_deref())
}

fn events(of: &SessionFacts, facts: &[Map<String, Value>], state: Option<&RunState>) -> Vec<RunEvent> {
    facts.iter().filter_map(|fact| whole(fact, &of.run, WIRE_VERSION, state)).collect()
}

#[cfg(test)]
mod tests;
