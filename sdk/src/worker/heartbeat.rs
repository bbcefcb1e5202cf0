//! Heartbeats for as long as an activity's body runs, and its end when the activity is cancelled.
//!
//! One thread beats for all activities of a worker. It is none of the runtime's: a body that blocks its thread still beats, as long as
//! the runtime has another one to send with, so that the server does not start a second attempt beside it. (A task would not do. Nobody
//! looks at the runtime's timers while the thread that did so last is blocked, and the others have nothing to do.)
//!
//! The first beat is due after a quarter of the timeout. A body that is done by then costs no request to the server, no task and no timer.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap},
    future::Future,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use temporalio_sdk::activities::{ActivityContext, ActivityError};
use tokio::{runtime::Handle, time::sleep};

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
    /// A beat is due earlier than all that the thread knows.
    earlier: Condvar,
}

#[derive(Default)]
struct Beats {
    /// The activities whose bodies run, by number.
    running: BTreeMap<u64, Beating>,
    /// When which of them is due, earliest first; of activities that are done, too, until their time has come.
    due: BinaryHeap<Reverse<(Instant, u64)>>,
    next_number: u64,
    /// Whether there is a thread; as long as anything is due.
    has_thread: bool,
}

struct Beating {
    ctx: Arc<ActivityContext>,
    runtime: Handle,
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
        let _started = self.start(ctx);
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
        beats.running.insert(number, Beating { ctx: Arc::clone(ctx), runtime: Handle::current(), period });
        if !beats.has_thread {
            let shared = Arc::clone(&self.0);
            match thread::Builder::new().name("agents-heartbeats".to_owned()).spawn(move || beat(&shared)) {
                Ok(_) => beats.has_thread = true,
                Err(error) => {
                    tracing::warn!(%error, "there is no thread for heartbeats until the next activity begins");
                }
            }
        } else if is_first {
            self.0.earlier.notify_one();
        }
        Some(Started { beater: self, number })
    }
}

/// An activity that beats.
struct Started<'b> {
    beater: &'b Beater,
    number: u64,
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
}

/// The thread: beats for as long as anything is due.
fn beat(shared: &Shared) {
    let mut beats = shared.lock();
    while let Some(&Reverse((due, number))) = beats.due.peek() {
        let now = Instant::now();
        if due > now {
            let woken = shared.earlier.wait_timeout(beats, due - now);
            (beats, _) = woken.unwrap_or_else(PoisonError::into_inner);
            continue;
        }
        beats.due.pop();
        let Some(Beating { ctx, runtime, period }) = beats.running.get(&number) else { continue };
        let (ctx, next) = (Arc::clone(ctx), now + *period);
        runtime.spawn(async move {
            // It has no details, so there is nothing that could not be written.
            let _ = ctx.record_heartbeat(()).await;
        });
        beats.due.push(Reverse((next, number)));
    }
    beats.has_thread = false;
}
