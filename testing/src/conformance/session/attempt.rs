//! The attempts of a session: the points at which they are interrupted, and the calls of author
//! functions recorded up to the point from which the next attempt continues.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

use temporal_agents::wire::{RunState, SessionCheckpoint};
use tokio::{
    sync::watch,
    time::{Duration, Instant, sleep},
};

use crate::conformance::build::{Seen, Witness};

/// The longest wait for the state after a model's answer; none comes where the run ends with it.
const WAIT_FOR_STATE: Duration = Duration::from_millis(500);

/// The attempts of one session.
#[derive(Debug)]
pub(super) struct Attempts {
    /// `true` if each effect ends an attempt, once.
    interrupts: bool,
    made: AtomicU32,
    history: Mutex<History>,
}

#[derive(Debug, Default)]
struct History {
    /// The effects before which an attempt has ended.
    interrupted_before: BTreeSet<String>,
    /// The calls of author functions recorded when a run reached this state.
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
    /// Model calls that have begun since the latest state: their answers may not be in the
    /// session's checkpoint yet.
    unsaved_answers: Mutex<u32>,
}

/// The phases of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    Lives,
    /// The attempt ends. No more effects occur, and no pending effect returns to the attempt's
    /// runs.
    Ends,
    /// The attempt's session is over.
    Over,
}

/// The error of an effect before which the attempt has ended.
#[derive(Debug, thiserror::Error)]
#[error("the attempt has ended")]
pub(crate) struct AttemptOver;

impl Attempts {
    pub(super) fn new(interrupts: bool) -> Self {
        Self { interrupts, made: AtomicU32::new(0), history: Mutex::default() }
    }

    /// Returns the number of attempts made.
    pub(super) fn made(&self) -> u32 {
        self.made.load(Ordering::Relaxed)
    }

    /// Creates the next attempt.
    pub(super) fn next(self: &Arc<Self>) -> Arc<Attempt> {
        let number = self.made.fetch_add(1, Ordering::Relaxed) + 1;
        let (life, _) = watch::channel(Life::Lives);
        Arc::new(Attempt {
            attempts: Arc::clone(self),
            number,
            runs: AtomicU32::new(0),
            witness: Mutex::default(),
            life,
            unsaved_answers: Mutex::new(0),
        })
    }

    /// Returns the calls of author functions recorded up to a checkpoint. The calls after that
    /// point are made again by the next attempt.
    pub(super) fn seen_at(&self, checkpoint: &SessionCheckpoint) -> Seen {
        let Some(state) = checkpoint.runs.iter().rev().find_map(|run| run.state.as_deref()) else {
            return Seen::default();
        };
        let history = lock(&self.history);
        history.seen.iter().rev().find(|(at, _)| at == state).map(|(_, seen)| seen.clone()).unwrap_or_default()
    }
}

impl Attempt {
    /// Returns the number of the attempt, counted from 1.
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// Signals that an effect is about to occur. If the attempt ends before the effect, or has
    /// already ended, this returns only after the session is over, so that the session does not
    /// receive the result.
    ///
    /// # Errors
    /// [`AttemptOver`] if the effect must not occur.
    pub(crate) async fn before(&self, effect: String) -> Result<(), AttemptOver> {
        self.end_before(effect);
        self.still_lives().await
    }

    /// Like [`before`](Self::before), for the call of a model, whose answer counts as unsaved until
    /// the run reaches a state or [`answer_is_void`](Self::answer_is_void).
    ///
    /// # Errors
    /// The call is not to happen.
    pub(crate) async fn before_model(&self, effect: String) -> Result<(), AttemptOver> {
        self.life.send_if_modified(|life| {
            let ends = self.ends_before(*life, effect);
            match *life {
                Life::Lives if ends => *life = Life::Ends,
                Life::Lives => *lock(&self.unsaved_answers) += 1,
                Life::Ends | Life::Over => {}
            }
            ends
        });
        self.still_lives().await
    }

    /// Like [`before`](Self::before), for the body of a tool. Bodies have a thread of their own, so
    /// the attempt could end between a model's answer and its record: that call would be made
    /// twice, and the script has one answer for it. So an unsaved answer is waited for.
    ///
    /// # Errors
    /// The body is not to act.
    pub(crate) async fn before_tool(&self, effect: String) -> Result<(), AttemptOver> {
        let begun = Instant::now();
        let mut waits = true;
        while waits {
            self.life.send_if_modified(|life| {
                waits = *lock(&self.unsaved_answers) > 0 && begun.elapsed() < WAIT_FOR_STATE;
                let ends = !waits && self.ends_before(*life, effect.clone());
                if ends {
                    *life = Life::Ends;
                }
                ends
            });
            if waits {
                sleep(Duration::from_millis(2)).await;
            }
        }
        self.still_lives().await
    }

    /// The latest model call has failed: nothing of it is saved.
    pub(crate) fn answer_is_void(&self) {
        let mut unsaved = lock(&self.unsaved_answers);
        *unsaved = unsaved.saturating_sub(1);
    }

    fn end_before(&self, effect: String) {
        self.life.send_if_modified(|life| {
            let ends = self.ends_before(*life, effect);
            if ends {
                *life = Life::Ends;
            }
            ends
        });
    }

    /// Returns `true` if a live attempt ends before this effect, and no attempt has ended before
    /// it.
    fn ends_before(&self, life: Life, effect: String) -> bool {
        life == Life::Lives
            && self.attempts.interrupts
            && lock(&self.attempts.history).interrupted_before.insert(effect)
    }

    async fn still_lives(&self) -> Result<(), AttemptOver> {
        if *self.life.borrow() == Life::Lives {
            return Ok(());
        }
        self.until(Life::Over).await;
        Err(AttemptOver)
    }

    /// Signals that a run is about to begin.
    ///
    /// # Errors
    /// [`AttemptOver`] if the run must not begin.
    pub(super) async fn before_run(&self) -> Result<(), AttemptOver> {
        let number = self.runs.fetch_add(1, Ordering::Relaxed);
        self.before(format!("run {number}")).await
    }

    /// Waits until the attempt ends before an effect.
    pub(super) async fn ends(&self) {
        self.until(Life::Ends).await;
    }

    /// Marks the attempt's session as over, so that its pending effects may return.
    pub(super) fn is_over(&self) {
        self.life.send_replace(Life::Over);
    }

    async fn until(&self, wanted: Life) {
        // The sender is a field of this attempt, so the channel cannot be closed.
        let _ = self.life.subscribe().wait_for(|life| *life == wanted).await;
    }

    /// Sets the witness whose record is stored with each state reached from now on.
    pub(super) fn sees_with(&self, witness: &Witness) {
        *lock(&self.witness) = Some(witness.clone());
    }

    /// Records that a run, or a run nested in it, has reached this state.
    pub(super) fn reached(&self, state: &RunState) {
        *lock(&self.unsaved_answers) = 0;
        // Whatever an attempt does after its end is lost.
        if let (Life::Lives, Some(witness)) = (*self.life.borrow(), &*lock(&self.witness)) {
            lock(&self.attempts.history).seen.push((state.clone(), witness.seen()));
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
