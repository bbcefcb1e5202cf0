//! How many histories this process long-polls at the same time.
//!
//! # Design
//! **Readers leave room for workers.** A Temporal server answers 1,200 long polls of a namespace at
//! the same time (`frontend.namespaceCount`), and refuses further ones of readers, workers and
//! starts alike. The readers of this process use a third of them. Beyond that they share the slots
//! in turn: a reader whose history has no news for two seconds gives its slot to a reader that waits,
//! and comes back at the end of the queue. A fact is then some seconds late, and no reader is
//! refused.

use std::{
    future::Future,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::sleep,
};

/// Maximum number of histories that are long-polled at the same time.
const MAX_POLLS: usize = 400;
/// Time that a reader keeps its slot while others wait for one.
const SLOT_TIME: Duration = Duration::from_secs(2);

/// The slots of all readers of this process.
pub(super) static POLL_SLOTS: PollSlots = PollSlots::new(MAX_POLLS);

/// Slots for long polls.
pub(super) struct PollSlots {
    free: Semaphore,
    queue: Mutex<Queue>,
}

/// The readers that wait for a slot.
#[derive(Default)]
struct Queue {
    waiting: usize,
    /// Number of slots that were given up for them and not taken yet.
    given: usize,
}

/// A reader that waits.
struct Waiting<'s>(&'s PollSlots);

impl PollSlots {
    const fn new(polls: usize) -> Self {
        Self { free: Semaphore::const_new(polls), queue: Mutex::new(Queue { waiting: 0, given: 0 }) }
    }

    /// Polls in a slot; returns `None` if the reader has given its slot up before the answer.
    pub(super) async fn poll<T>(&self, request: impl Future<Output = T>) -> Option<T> {
        let _slot = self.take().await;
        tokio::select! {
            biased;
            answer = request => Some(answer),
            () = self.give() => None,
        }
    }

    async fn take(&self) -> SemaphorePermit<'_> {
        if let Ok(slot) = self.free.try_acquire() {
            return slot;
        }
        self.queue().waiting += 1;
        let _waiting = Waiting(self);
        self.free.acquire().await.expect("the semaphore is never closed")
    }

    /// Waits until a reader waits for whom no other slot was given up.
    async fn give(&self) {
        loop {
            sleep(SLOT_TIME).await;
            let mut queue = self.queue();
            if queue.waiting > queue.given {
                queue.given += 1;
                return;
            }
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut queue = self.0.queue();
        queue.waiting -= 1;
        queue.given = queue.given.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use std::{
        future::{pending, ready},
        time::Duration,
    };

    use tokio::time::{Instant, timeout};

    use super::{PollSlots, SLOT_TIME};

    #[tokio::test(start_paused = true)]
    async fn reader_without_news_gives_its_slot_to_another() {
        let slots = PollSlots::new(1);
        let begun = Instant::now();
        let (first, second) = tokio::join!(slots.poll(pending::<()>()), slots.poll(ready(7)));
        assert_eq!((first, second), (None, Some(7)));
        assert_eq!(begun.elapsed(), SLOT_TIME);
    }

    #[tokio::test(start_paused = true)]
    async fn one_waiting_reader_takes_one_slot() {
        let slots = PollSlots::new(2);
        let polls = async { tokio::join!(slots.poll(pending::<()>()), slots.poll(pending::<()>())) };
        let last = async {
            tokio::time::sleep(SLOT_TIME / 2).await;
            slots.poll(ready(7)).await
        };
        // The other one keeps its slot.
        assert!(timeout(Duration::from_mins(10), async { tokio::join!(polls, last) }).await.is_err());
        assert_eq!(slots.poll(ready(7)).await, Some(7));
    }

    #[tokio::test(start_paused = true)]
    async fn reader_keeps_its_slot_while_nobody_waits() {
        let slots = PollSlots::new(1);
        assert!(timeout(Duration::from_mins(10), slots.poll(pending::<()>())).await.is_err());
        assert_eq!(slots.poll(ready(7)).await, Some(7));
    }
}
