//! The attempts of a session: where they are cut, and what author functions had seen when the next one goes on.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

use temporal_agents::wire::{RunState, SessionCheckpoint};
use tokio::sync::watch;

use crate::conformance::build::{Seen, Witness};

/// The attempts of one session.
#[derive(Debug)]
pub(super) struct Attempts {
    /// Whether each effect ends an attempt, once.
    interrupts: bool,
    made: AtomicU32,
    history: Mutex<History>,
}

#[derive(Debug, Default)]
struct History {
    /// The effects before which an attempt has ended.
    cut_before: BTreeSet<String>,
    /// What author functions had seen when a run was in this state.
    seen: Vec<(RunState, Seen)>,
}

/// One attempt.
#[derive(Debug)]
pub(crate) struct Attempt {
    attempts: Arc<Attempts>,
    number: u32,
    runs: AtomicU32,
    witness: Mutex<Option<Witness>>,
    life: watch::Sender<Life>,
}

/// How an attempt ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    Lives,
    /// It ends. Nothing takes effect any more, and nothing comes back to its runs.
    Ends,
    /// Its session is over.
    Over,
}

/// The attempt has ended before the effect.
#[derive(Debug, thiserror::Error)]
#[error("the attempt is over")]
pub(crate) struct AttemptOver;

impl Attempts {
    pub(super) fn new(interrupts: bool) -> Self {
        Self { interrupts, made: AtomicU32::new(0), history: Mutex::default() }
    }

    /// How many were made.
    pub(super) fn made(&self) -> u32 {
        self.made.load(Ordering::Relaxed)
    }

    /// The next one.
    pub(super) fn next(self: &Arc<Self>) -> Arc<Attempt> {
        let number = self.made.fetch_add(1, Ordering::Relaxed) + 1;
        let (life, _) = watch::channel(Life::Lives);
        let (attempts, runs, witness) = (Arc::clone(self), AtomicU32::new(0), Mutex::default());
        Arc::new(Attempt { attempts, number, runs, witness, life })
    }

    /// What author functions had seen at the point that a checkpoint holds: what they see after it they see again.
    pub(super) fn seen_at(&self, checkpoint: &SessionCheckpoint) -> Seen {
        let Some(state) = checkpoint.runs.iter().rev().find_map(|run| run.state.as_deref()) else {
            return Seen::default();
        };
        let history = lock(&self.history);
        history.seen.iter().rev().find(|(at, _)| at == state).map(|(_, seen)| seen.clone()).unwrap_or_default()
    }
}

impl Attempt {
    /// Its number, counted from 1.
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// An effect is about to happen. When the attempt ends before it, or has ended already, this comes back once the session is over, which
    /// then hears of it no more.
    ///
    /// # Errors
    /// The effect is not to happen.
    pub(crate) async fn before(&self, effect: String) -> Result<(), AttemptOver> {
        self.life.send_if_modified(|life| {
            let ends = *life == Life::Lives
                && self.attempts.interrupts
                && lock(&self.attempts.history).cut_before.insert(effect);
            if ends {
                *life = Life::Ends;
            }
            ends
        });
        if *self.life.borrow() == Life::Lives {
            return Ok(());
        }
        self.until(Life::Over).await;
        Err(AttemptOver)
    }

    /// A run is about to begin.
    ///
    /// # Errors
    /// It is not to begin.
    pub(super) async fn before_run(&self) -> Result<(), AttemptOver> {
        let number = self.runs.fetch_add(1, Ordering::Relaxed);
        self.before(format!("run {number}")).await
    }

    /// Waits until the attempt is to end before an effect.
    pub(super) async fn ends(&self) {
        self.until(Life::Ends).await;
    }

    /// The attempt has ended: what it still has under way may come back.
    pub(super) fn is_over(&self) {
        self.life.send_replace(Life::Over);
    }

    async fn until(&self, wanted: Life) {
        // The sender is this attempt's own, so that it cannot be gone.
        let _ = self.life.subscribe().wait_for(|life| *life == wanted).await;
    }

    /// The witness of what comes next.
    pub(super) fn sees_with(&self, witness: &Witness) {
        *lock(&self.witness) = Some(witness.clone());
    }

    /// A run, or a run inside it, is in this state.
    pub(super) fn reached(&self, state: &RunState) {
        // What an attempt does that has ended is lost.
        if let (Life::Lives, Some(witness)) = (*self.life.borrow(), &*lock(&self.witness)) {
            lock(&self.attempts.history).seen.push((state.clone(), witness.seen()));
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
