//! How many runs of a process work at the same time, and how many may wait for that.
//!
//! # Design
//! **The answer comes before the work.** A start beyond the limits is refused before its row is
//! written. What was accepted is never refused later: a run waits for its place with status
//! `queued`, and a run that was taken over or continues after a decision waits as long as it takes.
//!
//! **A run that waits for people has no place.** It gives its place back, and takes one when it
//! continues.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Default maximum number of runs that work at the same time.
const DEFAULT_MAX_AT_WORK: usize = 256;
/// Default maximum number of runs that wait for a place.
const DEFAULT_MAX_QUEUED: usize = 1_000;
/// Maximum number of starts whose rows are being written: the database takes some fifty a second,
/// and a start should not wait for its connection until that times out.
const MAX_STARTING: usize = 256;

/// The places of a process for runs.
#[derive(Debug)]
pub(super) struct Admission {
    max_at_work: usize,
    at_work: Arc<Semaphore>,
    queued: Counter,
    starting: Counter,
}

/// A number with a maximum.
#[derive(Debug)]
struct Counter {
    count: Arc<AtomicUsize>,
    max: usize,
}

/// One of a counted number, until it is dropped.
#[derive(Debug)]
pub(super) struct Counted(Arc<AtomicUsize>);

/// The place of a run that works, until it is dropped.
#[derive(Debug)]
pub(super) struct Place(#[expect(dead_code, reason = "held, and dropped")] OwnedSemaphorePermit);

impl Default for Admission {
    fn default() -> Self {
        Self::new(DEFAULT_MAX_AT_WORK, DEFAULT_MAX_QUEUED)
    }
}

impl Admission {
    fn new(max_at_work: usize, max_queued: usize) -> Self {
        let max_at_work = max_at_work.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            max_at_work,
            at_work: Arc::new(Semaphore::new(max_at_work)),
            queued: Counter { count: Arc::default(), max: max_queued },
            starting: Counter { count: Arc::default(), max: MAX_STARTING },
        }
    }

    /// Returns an admission without runs, with this maximum.
    pub(super) fn with_max_at_work(&self, runs: usize) -> Self {
        Self::new(runs, self.queued.max)
    }

    /// Returns an admission without runs, with this maximum.
    pub(super) fn with_max_queued(&self, runs: usize) -> Self {
        Self::new(self.max_at_work, runs)
    }

    /// Reserves what a start needs; `None` if too many runs wait or are being started.
    pub(super) fn admit(&self) -> Option<Admitted> {
        let starting = self.starting.add(0)?;
        // A start counts until its run has a place. Free places are for starts that wait now.
        let queued = self.queued.add(self.at_work.available_permits())?;
        Some(Admitted { starting: Some(starting), queued })
    }

    /// Waits for a place.
    ///
    /// # Panics
    /// Never: the semaphore is not closed.
    pub(super) async fn place(&self) -> Place {
        let permit = Arc::clone(&self.at_work).acquire_owned().await;
        Place(permit.expect("the semaphore is never closed"))
    }
}

/// A start that was admitted. Dropped when the run has its place, or was not started.
#[derive(Debug)]
pub(super) struct Admitted {
    starting: Option<Counted>,
    #[expect(dead_code, reason = "held, and dropped")]
    queued: Counted,
}

impl Admitted {
    /// Notes that the row of the run is written.
    pub(super) fn has_started(&mut self) {
        self.starting = None;
    }
}

impl Counter {
    /// Adds one, unless the maximum and this many more are reached.
    fn add(&self, more: usize) -> Option<Counted> {
        let added = self.count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| {
            (count < self.max.saturating_add(more)).then_some(count + 1)
        });
        added.ok().map(|_| Counted(Arc::clone(&self.count)))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::{Admission, MAX_STARTING};

    #[tokio::test]
    async fn runs_beyond_the_places_wait_up_to_a_limit() {
        let admission = Admission::new(1, 2);
        let mut first = admission.admit().unwrap();
        first.has_started();
        let place = admission.place().await;
        drop(first);
        let waiting = (admission.admit().unwrap(), admission.admit().unwrap());
        assert!(admission.admit().is_none());
        assert!(admission.place().now_or_never().is_none());
        drop(place);
        let _place = admission.place().now_or_never().unwrap();
        drop(waiting);
        assert!(admission.admit().is_some());
    }

    #[test]
    fn starts_are_limited_while_their_rows_are_written() {
        let admission = Admission::new(1_000, 1_000);
        let mut starts: Vec<_> = (0..MAX_STARTING).map(|_| admission.admit().unwrap()).collect();
        assert!(admission.admit().is_none());
        starts[0].has_started();
        assert!(admission.admit().is_some());
    }
}
