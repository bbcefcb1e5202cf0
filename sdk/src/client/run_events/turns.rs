//! How many histories this process long-polls at the same time.
//!
//! # Design
//! **Readers leave room for workers.** A Temporal server answers 1,200 long polls of a namespace at
//! the same time (`frontend.namespaceCount`), and refuses further ones of readers, workers and
//! starts alike. The readers of this process use a third of them. Beyond that they take turns: one
//! whose history has no news for two seconds leaves its place to the next, and comes back at the end
//! of the queue. A fact is then some seconds late, and nobody is refused.

use std::{
    future::Future,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::sleep,
};

/// Maximum number of histories that are long-polled at the same time.
const MAX_POLLS: usize = 400;
/// Time that a reader keeps its turn, if others wait for one.
const TURN: Duration = Duration::from_secs(2);

/// The turns of all readers of this process.
pub(super) static TURNS: Turns = Turns::new(MAX_POLLS);

/// Turns at long polls.
pub(super) struct Turns {
    free: Semaphore,
    /// Number of readers that wait for a turn.
    waiting: AtomicUsize,
}

/// A reader that waits.
struct Waiting<'t>(&'t AtomicUsize);

impl Turns {
    const fn new(polls: usize) -> Self {
        Self { free: Semaphore::const_new(polls), waiting: AtomicUsize::new(0) }
    }

    /// Polls for a turn; returns `None` if it was over before the answer.
    ///
    /// # Panics
    /// Never: the semaphore is not closed.
    pub(super) async fn poll<T>(&self, request: impl Future<Output = T>) -> Option<T> {
        let _turn = self.begin().await;
        tokio::select! {
            biased;
            answer = request => Some(answer),
            () = self.is_over() => None,
        }
    }

    async fn begin(&self) -> SemaphorePermit<'_> {
        if let Ok(turn) = self.free.try_acquire() {
            return turn;
        }
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let _waiting = Waiting(&self.waiting);
        self.free.acquire().await.expect("the semaphore is never closed")
    }

    /// Waits until the turn is over: others wait for one.
    async fn is_over(&self) {
        loop {
            sleep(TURN).await;
            if self.waiting.load(Ordering::Relaxed) > 0 {
                return;
            }
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::{
        future::{pending, ready},
        time::Duration,
    };

    use tokio::time::{Instant, timeout};

    use super::{TURN, Turns};

    #[tokio::test(start_paused = true)]
    async fn reader_without_news_leaves_its_turn_to_the_next() {
        let turns = Turns::new(1);
        let begun = Instant::now();
        let (first, second) = tokio::join!(turns.poll(pending::<()>()), turns.poll(ready(7)));
        assert_eq!((first, second), (None, Some(7)));
        assert_eq!(begun.elapsed(), TURN);
    }

    #[tokio::test(start_paused = true)]
    async fn reader_keeps_its_turn_while_nobody_waits() {
        let turns = Turns::new(1);
        assert!(timeout(Duration::from_mins(10), turns.poll(pending::<()>())).await.is_err());
        assert_eq!(turns.poll(ready(7)).await, Some(7));
    }
}
