//! What a session has come to so far, in memory: its runs, their answers, its results. The checkpoint is a picture of it.
//!
//! # Design
//! **A session journals answers, not only states.** The proposal that the session host comes from
//! keeps the conversation before each model call, so that a crash runs all tools of the last turn
//! again. Here what each call has answered since is kept as well. That costs a checkpoint for each
//! tool call, and the loop's state stays unchanged: what is computed anew in between is pure.

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use crate::wire::{EffectAnswer, Item, RunState, SessionCheckpoint, SessionRun, session_checkpoint::SESSION_FORMAT};

/// The progress of a session. Each change has a number, by which the writer knows what it has written.
pub(super) struct Progress(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    /// The runs by ordinal; also those of an earlier attempt that have not begun again.
    runs: Vec<SessionRun>,
    /// How many have begun in this attempt.
    begun: usize,
    results: Vec<Gathered>,
    /// Those of an earlier attempt's runs that have not begun again.
    kept: Vec<Gathered>,
    /// The number of the latest change.
    changes: u64,
    /// The number of the latest change that must be written before anything else takes effect.
    due: u64,
}

/// A result, and the run it comes from.
#[derive(Clone)]
struct Gathered {
    run: Option<usize>,
    value: Value,
}

/// A run that begins, or goes on.
pub(super) struct Begun {
    pub(super) ordinal: usize,
    /// What an earlier attempt has left of it.
    pub(super) earlier: SessionRun,
}

/// The point a run can go on from.
pub(super) struct Point<'p> {
    pub(super) state: &'p RunState,
    pub(super) session_writes: u32,
    pub(super) memory: Option<Vec<Item>>,
}

impl Progress {
    /// The progress that an earlier attempt has made.
    pub(super) fn new(restored: SessionCheckpoint) -> Self {
        let SessionCheckpoint { format: _, version: _, turns: _, results, origins, runs } = restored;
        // What was gathered between the runs is gathered again.
        let from_runs = results.into_iter().zip(origins).filter(|(_, run)| run.is_some());
        let kept = from_runs.map(|(value, run)| Gathered { run, value }).collect();
        Self(Mutex::new(Inner { runs, kept, ..Inner::default() }))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins the next run, with what an earlier attempt has left of it.
    pub(super) fn begin(&self, agent: &str) -> Begun {
        let mut inner = self.lock();
        let ordinal = inner.begun;
        inner.begun += 1;
        let was = inner.runs.get(ordinal).map(|run| run.agent.clone()).unwrap_or_default();
        if !was.is_empty() && was != agent {
            tracing::warn!(
                run = ordinal,
                was,
                agent,
                "the checkpoint is of another agent's run: this run and those after it begin anew"
            );
            inner.runs.truncate(ordinal);
            inner.kept.retain(|result| result.run < Some(ordinal));
        }
        if inner.runs.len() <= ordinal {
            inner.runs.push(SessionRun::default());
        }
        agent.clone_into(&mut inner.runs[ordinal].agent);
        let of_run = |result: &mut Gathered| result.run == Some(ordinal);
        let taken: Vec<Gathered> = inner.kept.extract_if(.., of_run).collect();
        inner.results.extend(taken);
        Begun { ordinal, earlier: inner.runs[ordinal].clone() }
    }

    /// What an effect of a run has answered since the point it goes on from.
    pub(super) fn answer(&self, run: usize, effect: &str) -> Option<EffectAnswer> {
        self.lock().runs[run].answers.get(effect).cloned()
    }

    /// A new point to go on from; what was answered until then is in it.
    pub(super) fn reach(&self, run: usize, point: Point<'_>) {
        let mut inner = self.lock();
        let reached = &mut inner.runs[run];
        let Point { state, session_writes, memory } = point;
        reached.state = Some(Box::new(state.clone()));
        reached.session_writes = session_writes;
        reached.memory = memory;
        reached.conversation = None;
        reached.answers.clear();
        inner.change(true);
    }

    /// What an effect has answered, with what it has gathered. `is_due` says whether the next effect has to wait until it is written.
    pub(super) fn record(&self, run: usize, effect: &str, answer: EffectAnswer, gathered: Vec<Value>, is_due: bool) {
        let mut inner = self.lock();
        inner.runs[run].answers.insert(effect.to_owned(), answer);
        inner.results.extend(gathered.into_iter().map(|value| Gathered { run: Some(run), value }));
        inner.change(is_due);
    }

    /// An effect that has not happened after all.
    pub(super) fn forget(&self, run: usize, effect: &str) {
        let mut inner = self.lock();
        inner.runs[run].answers.remove(effect);
        inner.change(false);
    }

    /// Adds a result that comes from no run.
    pub(super) fn gather(&self, value: Value) {
        let mut inner = self.lock();
        inner.results.push(Gathered { run: None, value });
        inner.change(false);
    }

    /// All results, in order; those of runs that have not begun again come last.
    pub(super) fn results(&self) -> Vec<Value> {
        let inner = self.lock();
        inner.results.iter().chain(&inner.kept).map(|result| result.value.clone()).collect()
    }

    /// Everything so far must be written.
    pub(super) fn make_due(&self) {
        let mut inner = self.lock();
        inner.due = inner.changes;
    }

    /// The number of the latest change that must be written.
    pub(super) fn due(&self) -> u64 {
        self.lock().due
    }

    /// The number of the latest change.
    pub(super) fn changes(&self) -> u64 {
        self.lock().changes
    }

    /// The progress as it stands, and the number of its latest change.
    pub(super) fn picture(&self) -> (SessionCheckpoint, u64) {
        let inner = self.lock();
        let (results, origins) =
            inner.results.iter().chain(&inner.kept).map(|result| (result.value.clone(), result.run)).unzip();
        let turns = inner.runs.iter().filter_map(|run| run.state.as_ref()).map(|state| state.turn).sum();
        let picture = SessionCheckpoint {
            format: SESSION_FORMAT.to_owned(),
            turns,
            results,
            origins,
            runs: inner.runs.clone(),
            ..SessionCheckpoint::new()
        };
        (picture, inner.changes)
    }
}

impl Inner {
    fn change(&mut self, is_due: bool) {
        self.changes += 1;
        if is_due {
            self.due = self.changes;
        }
    }
}
