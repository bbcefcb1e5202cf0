//! The progress of a session in memory: its runs, their recorded answers, its results. A checkpoint
//! is a snapshot of it.
//!
//! # Design
//! **A session journals answers, not only states.** The proposal that the session host comes from
//! keeps the conversation before each model call, so that a crash runs all tools of the last turn
//! again. This host also keeps the answer of each call since then. That costs a checkpoint for each
//! tool call, and leaves the loop's state unchanged: everything that is computed again in between
//! is pure.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use serde_json::Value;
use temporal_agents_core::{
    engine::{ReasoningItemIds, input_items},
    wire::{
        Item, RunEvent, RunState, SessionCheckpoint,
        run_state::Phase,
        session_checkpoint::{EffectAnswer, SESSION_FORMAT, SessionRun},
    },
};

use super::{
    fact_log::{FactLog, make_room},
    format::CheckpointFormat,
};

/// The progress of a session. Each change has a number, by which the writer knows which changes it
/// has written.
pub(super) struct Progress {
    format: CheckpointFormat,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// The runs by ordinal, including those of an earlier attempt that have not begun again.
    runs: Vec<SessionRun>,
    /// The facts of the runs that have begun in this attempt, by ordinal.
    logs: BTreeMap<usize, FactLog>,
    /// Number of runs that have begun in this attempt.
    begun: usize,
    results: Vec<SessionResult>,
    /// Results of an earlier attempt's runs that have not begun again.
    kept: Vec<SessionResult>,
    /// The conversation before the latest turn, in a format that keeps one conversation.
    conversation: Option<Conversation>,
    /// The number of the latest change.
    changes: u64,
    /// The number of the latest change that must be written before anything else takes effect.
    due: u64,
}

/// A result, and the ordinal of the run that produced it.
#[derive(Clone)]
struct SessionResult {
    run: Option<usize>,
    value: Value,
}

/// The conversation of a run between two turns, and the results of its turns.
#[derive(Clone)]
pub(super) struct Conversation {
    pub(super) items: Vec<Item>,
    pub(super) results: Vec<Value>,
    /// Number of model calls that the run has made.
    pub(super) turns: u32,
}

/// A run that begins or continues.
pub(super) struct Begun {
    pub(super) ordinal: usize,
    /// The run's state and answers from an earlier attempt.
    pub(super) earlier: SessionRun,
}

/// A state from which a run can continue.
pub(super) struct Point<'p> {
    pub(super) state: &'p RunState,
    pub(super) session_writes: u32,
    pub(super) memory: Option<Vec<Item>>,
    /// Data that the facts after the state depend on; `None` if the run has no publisher.
    pub(super) observed: Option<Value>,
}

impl Progress {
    /// Creates the progress from the checkpoint of an earlier attempt.
    pub(super) fn new(restored: SessionCheckpoint, format: CheckpointFormat) -> Self {
        let SessionCheckpoint { format: _, version: _, turns: _, results, origins, runs } = restored;
        // Results that were added between the runs are added again by the body.
        let from_runs = results.into_iter().zip(origins).filter(|(_, run)| run.is_some());
        let kept = from_runs.map(|(value, run)| SessionResult { run, value }).collect();
        Self { format, inner: Mutex::new(Inner { runs, kept, ..Inner::default() }) }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins the next run, and returns what an earlier attempt has recorded of it.
    pub(super) fn begin(&self, agent: &str) -> Begun {
        let mut inner = self.lock();
        let ordinal = inner.begun;
        inner.begun += 1;
        // Runs are identified by their order and their agent: a different agent means that the body
        // has taken another path, and the recorded runs from here on do not apply.
        let was = inner.runs.get(ordinal).map(|run| run.agent.clone()).unwrap_or_default();
        if !was.is_empty() && was != agent {
            tracing::warn!(
                run = ordinal,
                was,
                agent,
                "the checkpoint belongs to a run of another agent: this run and those after it start from the beginning"
            );
            inner.runs.truncate(ordinal);
            inner.kept.retain(|result| result.run < Some(ordinal));
        }
        if inner.runs.len() <= ordinal {
            inner.runs.push(SessionRun::default());
        }
        agent.clone_into(&mut inner.runs[ordinal].agent);
        let of_run = |result: &mut SessionResult| result.run == Some(ordinal);
        let taken: Vec<SessionResult> = inner.kept.extract_if(.., of_run).collect();
        inner.results.extend(taken);
        Begun { ordinal, earlier: inner.runs[ordinal].clone() }
    }

    /// Sets the facts of a run that begins.
    pub(super) fn keep_facts(&self, run: usize, log: FactLog) {
        self.lock().logs.insert(run, log);
    }

    /// Records a fact of a run. It is written with the next change that is written.
    pub(super) fn report(&self, run: usize, event: &mut RunEvent) {
        if let Some(log) = self.lock().logs.get_mut(&run) {
            log.report(event);
        }
    }

    /// Returns the facts of the runs of this attempt, as far as they are kept.
    pub(super) fn facts(&self) -> Vec<RunEvent> {
        let inner = self.lock();
        inner.logs.iter().flat_map(|(run, log)| log.events(inner.runs[*run].state.as_deref())).collect()
    }

    /// Returns the recorded answer of an effect since the state from which the run continues.
    pub(super) fn answer(&self, run: usize, effect: &str) -> Option<EffectAnswer> {
        self.lock().runs[run].answers.get(effect).cloned()
    }

    /// Records a new state from which a run can continue. It includes all earlier answers, which
    /// are removed. It must be written, unless the format keeps one conversation and the state is
    /// not between two turns.
    pub(super) fn reach(&self, run: usize, point: Point<'_>) {
        let mut guard = self.lock();
        let inner = &mut *guard;
        let reached = &mut inner.runs[run];
        let Point { state, session_writes, memory, observed } = point;
        if let (Some(log), Some(observed)) = (inner.logs.get_mut(&run), observed) {
            log.settle(reached.state.as_deref(), state, observed);
            make_room(&mut inner.logs);
        }
        reached.state = Some(Box::new(state.clone()));
        reached.session_writes = session_writes;
        reached.memory = memory;
        reached.conversation = None;
        reached.answers.clear();
        let is_proposal = self.format.is_proposal();
        let is_between_turns = matches!(state.phase, Phase::TurnDue);
        if is_proposal && is_between_turns {
            inner.conversation = Some(inner.conversation_of(run, state));
        }
        inner.change(!is_proposal || is_between_turns);
    }

    /// Records the answer of an effect and the results that it has added. With `is_due`, the next
    /// effect waits until the answer is written, if the format keeps answers.
    pub(super) fn record(&self, run: usize, effect: &str, answer: EffectAnswer, gathered: Vec<Value>, is_due: bool) {
        let mut inner = self.lock();
        inner.runs[run].answers.insert(effect.to_owned(), answer);
        inner.results.extend(gathered.into_iter().map(|value| SessionResult { run: Some(run), value }));
        inner.change(is_due && !self.format.is_proposal());
    }

    /// Removes the recorded answer of an effect that has not taken place.
    pub(super) fn forget(&self, run: usize, effect: &str) {
        let mut inner = self.lock();
        inner.runs[run].answers.remove(effect);
        inner.change(false);
    }

    /// Adds a result that belongs to no run.
    pub(super) fn gather(&self, value: Value) {
        let mut inner = self.lock();
        inner.results.push(SessionResult { run: None, value });
        inner.change(false);
    }

    /// Returns all results, in order; those of runs that have not begun again come last.
    pub(super) fn results(&self) -> Vec<Value> {
        let inner = self.lock();
        inner.results.iter().chain(&inner.kept).map(|result| result.value.clone()).collect()
    }

    /// Marks all changes so far as due: they must be written before the next effect.
    pub(super) fn require_all_written(&self) {
        let mut inner = self.lock();
        inner.due = inner.changes;
    }

    /// Returns the number of the latest change that must be written.
    pub(super) fn due(&self) -> u64 {
        self.lock().due
    }

    /// Returns the number of the latest change.
    pub(super) fn changes(&self) -> u64 {
        self.lock().changes
    }

    /// Returns the conversation before the latest turn, and the number of the latest change. `None`
    /// until a turn of this attempt begins.
    pub(super) fn conversation(&self) -> Option<(Conversation, u64)> {
        let inner = self.lock();
        Some((inner.conversation.clone()?, inner.changes))
    }

    /// Returns a snapshot of the progress, and the number of its latest change.
    pub(super) fn picture(&self) -> (SessionCheckpoint, u64) {
        let inner = self.lock();
        let (results, origins) =
            inner.results.iter().chain(&inner.kept).map(|result| (result.value.clone(), result.run)).unzip();
        let turns = inner.runs.iter().filter_map(|run| run.state.as_ref()).map(|state| state.turn).sum();
        let mut runs = inner.runs.clone();
        for (run, log) in &inner.logs {
            runs[*run].facts = Some(log.written());
        }
        let picture = SessionCheckpoint {
            format: SESSION_FORMAT.to_owned(),
            turns,
            results,
            origins,
            runs,
            ..SessionCheckpoint::new()
        };
        (picture, inner.changes)
    }
}

impl Inner {
    /// Returns the conversation of a run between two turns. Its results are those of its turns:
    /// results that the body adds are added again by the next attempt.
    fn conversation_of(&self, run: usize, state: &RunState) -> Conversation {
        let happened = input_items(state.model_items(), ReasoningItemIds::default());
        let results = self.results.iter().filter(|result| result.run == Some(run));
        Conversation {
            items: state.input.iter().cloned().chain(happened).collect(),
            results: results.map(|result| result.value.clone()).collect(),
            turns: state.turn,
        }
    }

    fn change(&mut self, is_due: bool) {
        self.changes += 1;
        if is_due {
            self.due = self.changes;
        }
    }
}
