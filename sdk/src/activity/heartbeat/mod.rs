//! Heartbeats for as long as an activity's body runs, and the end of the body when the activity is
//! cancelled.
//!
//! One thread sends the heartbeats of all model, tool and MCP activities of a worker. It is not a
//! thread of the runtime: a body that blocks its thread still has heartbeats, as long as the
//! runtime has another thread to send them with, so that the server does not start a second attempt
//! beside it. (A task would not suffice. No thread polls the runtime's timers while the thread that
//! polled them last is blocked and the others are idle.) The thread exists as long as a heartbeat
//! may become due.
//!
//! The first heartbeat is due after a sixth of the timeout. A body that ends before then costs no
//! request to the server, no task and no timer.

mod schedule;

use std::{
    future::Future,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use futures::{FutureExt, future::BoxFuture};
use temporalio_common::data_converters::PayloadConversionError;
use temporalio_sdk::activities::{ActivityContext, ActivityError};
use tokio::{runtime::Handle, time::sleep};

use self::schedule::Schedule;
use crate::deltas::HeartbeatDetails;

/// The number of heartbeats per timeout. The SDK sends a heartbeat at once, and then, from a timer
/// of the runtime, at most one per 0.8 timeouts. With this many, one of them wakes the runtime in
/// the remaining fifth of a timeout, whatever the runtime did last.
const HEARTBEATS_PER_TIMEOUT: u32 = 6;
/// The minimum period between two heartbeats of an activity.
const SHORTEST: Duration = Duration::from_millis(10);

/// The details of the heartbeats of an activity.
pub(crate) trait BeatDetails: Send + Sync {
    /// Passes a heartbeat with the latest details to the SDK.
    fn beat<'a>(&'a self, ctx: &'a ActivityContext) -> BoxFuture<'a, Result<(), PayloadConversionError>>;
}

impl BeatDetails for HeartbeatDetails {
    fn beat<'a>(&'a self, ctx: &'a ActivityContext) -> BoxFuture<'a, Result<(), PayloadConversionError>> {
        async move {
            match self.current() {
                Some(details) => ctx.record_heartbeat(details).await,
                None => ctx.record_heartbeat(()).await,
            }
        }
        .boxed()
    }
}

/// Sends heartbeats for the activities of one worker.
#[derive(Clone, Default)]
pub(crate) struct HeartbeatSender(Arc<Shared>);

#[derive(Default)]
struct Shared {
    beats: Mutex<HeartbeatState>,
    /// Notified when a heartbeat is due before the thread would wake up.
    earlier: Condvar,
}

#[derive(Default)]
struct HeartbeatState {
    schedule: Schedule<Arc<Attempt>>,
    /// The time at which the thread wakes up next; `None` if there is no thread.
    wakes_at: Option<Instant>,
}

/// An attempt at an activity whose body runs.
struct Attempt {
    ctx: Arc<ActivityContext>,
    details: Arc<dyn BeatDetails>,
    runtime: Handle,
    /// `true` while the previous heartbeat is in progress: a codec may be slow, or no thread of the
    /// runtime free.
    is_beating: AtomicBool,
}

impl HeartbeatSender {
    /// Runs `body` with heartbeats that carry `details`.
    ///
    /// The body has `grace` to end once the activity is cancelled or its worker shuts down.
    ///
    /// # Errors
    /// [`ActivityError::Cancelled`], if the body did not end in that time; it is then dropped.
    pub(crate) async fn beating<T>(
        &self,
        ctx: &Arc<ActivityContext>,
        details: &HeartbeatDetails,
        grace: Duration,
        body: impl Future<Output = T>,
    ) -> Result<T, ActivityError> {
        let _until_dropped = self.start(ctx, Arc::new(details.clone()));
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

    /// Sends heartbeats for an activity until the return value is dropped. Returns `None` for an
    /// activity without a heartbeat timeout.
    pub(crate) fn start(
        &self,
        ctx: &Arc<ActivityContext>,
        details: Arc<dyn BeatDetails>,
    ) -> Option<HeartbeatGuard<'_>> {
        let timeout = ctx.info().heartbeat_timeout.filter(|timeout| !timeout.is_zero())?;
        let period = (timeout / HEARTBEATS_PER_TIMEOUT).max(SHORTEST);
        let is_beating = AtomicBool::new(false);
        let attempt = Attempt { ctx: Arc::clone(ctx), details, runtime: Handle::current(), is_beating };
        let mut beats = self.0.lock();
        let (number, due) = beats.schedule.add(Arc::new(attempt), period, Instant::now());
        match beats.wakes_at {
            Some(wakes_at) if due < wakes_at => self.0.earlier.notify_one(),
            Some(_) => {}
            None => {
                let shared = Arc::clone(&self.0);
                match thread::Builder::new().name("agents-heartbeats".to_owned()).spawn(move || beat(&shared)) {
                    Ok(_) => beats.wakes_at = Some(due),
                    Err(error) => {
                        drop(beats);
                        tracing::warn!(%error, "the heartbeat thread could not be started: there are no heartbeats \
                                                until another activity starts");
                    }
                }
            }
        }
        Some(HeartbeatGuard { beater: self, number })
    }
}

/// Keeps the heartbeats of an activity in the schedule until it is dropped.
pub(crate) struct HeartbeatGuard<'b> {
    beater: &'b HeartbeatSender,
    number: u64,
}

impl Drop for HeartbeatGuard<'_> {
    fn drop(&mut self) {
        // The entry is not dropped under the lock: it may hold the last reference to the context.
        let _done = self.beater.0.lock().schedule.remove(self.number);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, HeartbeatState> {
        self.beats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs the heartbeat thread for as long as a heartbeat may become due.
fn beat(shared: &Shared) {
    let _frees_its_place = PanicGuard(shared);
    let mut beats = shared.lock();
    loop {
        let due = beats.schedule.take_due(Instant::now());
        if !due.is_empty() {
            // Sent without the lock: there may be many, and bodies start and end meanwhile.
            drop(beats);
            for attempt in due {
                attempt.beat();
            }
            beats = shared.lock();
            continue;
        }
        let now = Instant::now();
        beats.wakes_at = match (beats.schedule.first(), beats.wakes_at) {
            (Some(due), _) => Some(due),
            // The thread stays until then, so that activities which follow one another do not each
            // start a thread.
            (None, Some(wakes_at)) if wakes_at > now => Some(wakes_at),
            (None, _) => None,
        };
        let Some(wakes_at) = beats.wakes_at else { return };
        let woken = shared.earlier.wait_timeout(beats, wakes_at.saturating_duration_since(now));
        (beats, _) = woken.unwrap_or_else(PoisonError::into_inner);
    }
}

impl Attempt {
    /// Sends a heartbeat, unless the previous one is still in progress.
    fn beat(self: Arc<Self>) {
        if self.is_beating.swap(true, Ordering::AcqRel) {
            return;
        }
        let runtime = self.runtime.clone();
        runtime.spawn(async move {
            let _done = InProgressGuard(&self.is_beating);
            if let Err(error) = self.details.beat(&self.ctx).await {
                tracing::warn!(%error, activity_id = self.ctx.info().activity_id, "a heartbeat could not be encoded");
            }
        });
    }
}

/// Allows the next heartbeat, even if this one panics, as a codec may.
struct InProgressGuard<'b>(&'b AtomicBool);

impl Drop for InProgressGuard<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// Allows the next activity to start another thread, if this one panics.
struct PanicGuard<'s>(&'s Shared);

impl Drop for PanicGuard<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.lock().wakes_at = None;
        }
    }
}

#[cfg(test)]
mod tests;
