//! Heartbeats for as long as an activity's body runs, and its end when the activity is cancelled.
//!
//! One task beats for all activities of a worker. It is none of theirs: a body that blocks its thread still beats, as long as
//! the worker's runtime has another thread, so that the server does not start a second attempt beside it.
//!
//! The first beat is due after a quarter of the timeout. A body that is done by then costs no request to the server, and, where others
//! began before it, neither a task nor a timer.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap},
    future::Future,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use temporalio_sdk::activities::{ActivityContext, ActivityError};
use tokio::{
    sync::Notify,
    task::{AbortHandle, yield_now},
    time::{Instant, sleep, sleep_until},
};

/// The SDK sends at most one heartbeat per 0.8 timeouts and drops the others, so often is cheap.
const PER_TIMEOUT: u32 = 4;
const SHORTEST: Duration = Duration::from_millis(10);
/// How many beats of activities that are done may be noted before they are looked for.
const DUE_OF_DONE: usize = 1_000;

/// What beats for the activities of one worker.
#[derive(Clone, Default)]
pub(super) struct Beater(Arc<Shared>);

#[derive(Default)]
struct Shared {
    beats: Mutex<Beats>,
    /// A beat is due earlier than all that the task knows.
    earlier: Notify,
}

#[derive(Default)]
struct Beats {
    /// The activities whose bodies run, by number.
    running: BTreeMap<u64, Beating>,
    /// When which of them is due, earliest first; of activities that are done, too, until their time has come.
    due: BinaryHeap<Reverse<(Instant, u64)>>,
    next_number: u64,
    /// The task, as long as anything is due.
    task: Option<AbortHandle>,
}

struct Beating {
    ctx: Arc<ActivityContext>,
    period: Duration,
}

impl Beater {
    /// Runs `body` with heartbeats.
    ///
    /// When the activity is cancelled, or its worker shuts down, the body has `grace` to end by itself.
    ///
    /// # Errors
    /// [`ActivityError::Cancelled`] when it did not; it is dropped then.
    pub(super) async fn beating<T>(
        &self,
        ctx: &Arc<ActivityContext>,
        grace: Duration,
        body: impl Future<Output = T>,
    ) -> Result<T, ActivityError> {
        let started = self.start(ctx);
        if started.as_ref().is_some_and(|started| started.woke_the_task) {
            // The task waits in a slot of this thread that no other thread takes from; let it begin before the body may block.
            yield_now().await;
        }
        tokio::pin!(body);
        tokio::select! {
            biased;
            output = &mut body => return Ok(output),
            () = ctx.cancelled() => {}
        }
        tokio::select! {
            biased;
            output = &mut body => Ok(output),
            () = sleep(grace) => Err(ActivityError::cancelled()),
        }
    }

    /// Beats for an activity until what this returns is dropped; not at all for one without a heartbeat timeout.
    fn start(&self, ctx: &Arc<ActivityContext>) -> Option<Started<'_>> {
        let timeout = ctx.info().heartbeat_timeout.filter(|timeout| !timeout.is_zero())?;
        let period = (timeout / PER_TIMEOUT).max(SHORTEST);
        let due = Instant::now() + period;
        let mut beats = self.0.lock();
        let number = beats.next_number;
        beats.next_number += 1;
        let is_first = beats.due.peek().is_none_or(|Reverse((first, _))| due < *first);
        beats.due.push(Reverse((due, number)));
        beats.running.insert(number, Beating { ctx: Arc::clone(ctx), period });
        // A task ends with its runtime, too.
        let has_task = beats.task.as_ref().is_some_and(|task| !task.is_finished());
        if !has_task {
            beats.task = Some(tokio::spawn(beat(Arc::clone(&self.0))).abort_handle());
        } else if is_first {
            self.0.earlier.notify_one();
        }
        Some(Started { beater: self, number, woke_the_task: is_first || !has_task })
    }
}

/// An activity that beats.
struct Started<'b> {
    beater: &'b Beater,
    number: u64,
    woke_the_task: bool,
}

impl Drop for Started<'_> {
    fn drop(&mut self) {
        // Not dropped under the lock: it may be the last one to hold the context.
        let _done = self.beater.0.lock().end(self.number);
    }
}

impl Beats {
    fn end(&mut self, number: u64) -> Option<Beating> {
        let Self { running, due, .. } = self;
        let done = running.remove(&number);
        if due.len() > 2 * running.len() + DUE_OF_DONE {
            due.retain(|Reverse((_, number))| running.contains_key(number));
        }
        done
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Beats> {
        self.beats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends what is due, and says when to come again; never, when nothing is due any more.
    fn send_due(&self) -> Option<Instant> {
        let now = Instant::now();
        let mut beats = self.lock();
        while let Some(&Reverse((due, number))) = beats.due.peek() {
            if due > now {
                return Some(due);
            }
            beats.due.pop();
            let Some(Beating { ctx, period }) = beats.running.get(&number) else { continue };
            let (ctx, next) = (Arc::clone(ctx), now + *period);
            beats.due.push(Reverse((next, number)));
            // By itself: a codec may take its time, and the others must not wait for it.
            tokio::spawn(async move {
                // It has no details, so there is nothing that could not be written.
                let _ = ctx.record_heartbeat(()).await;
            });
        }
        beats.task = None;
        None
    }
}

/// The task: beats for as long as anything is due.
async fn beat(shared: Arc<Shared>) {
    while let Some(next) = shared.send_due() {
        tokio::select! {
            () = sleep_until(next) => {}
            () = shared.earlier.notified() => {}
        }
    }
}
