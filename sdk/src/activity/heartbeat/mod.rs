//! Heartbeats for as long as an activity's body runs, and its end when the activity is cancelled.
//!
//! One thread beats for all model, tool and MCP activities of a worker. It is none of the runtime's: a body that blocks its thread
//! still beats, as long as the runtime has another one to send with, so that the server does not start a second attempt beside it. (A
//! task would not do. Nobody looks at the runtime's timers while the thread that did so last is blocked, and the others have nothing
//! to do.) There is a thread as long as anything may be due.
//!
//! The first beat is due after a sixth of the timeout. A body that is done by then costs no request to the server, no task and no timer.

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

use temporalio_sdk::activities::{ActivityContext, ActivityError};
use tokio::{runtime::Handle, time::sleep};

use self::schedule::Schedule;

/// The SDK sends a heartbeat at once, and then, from a timer of the runtime, at most one per 0.8 timeouts. One of so many wakes the
/// runtime in the fifth of a timeout that is left then, whatever it did last.
const PER_TIMEOUT: u32 = 6;
const SHORTEST: Duration = Duration::from_millis(10);

/// What beats for the activities of one worker.
#[derive(Clone, Default)]
pub(crate) struct Beater(Arc<Shared>);

#[derive(Default)]
struct Shared {
    beats: Mutex<Beats>,
    /// A beat is due before the thread would look.
    earlier: Condvar,
}

#[derive(Default)]
struct Beats {
    schedule: Schedule<Arc<Attempt>>,
    /// When the thread looks what is due, where there is a thread.
    looks_at: Option<Instant>,
}

/// An attempt at an activity whose body runs.
struct Attempt {
    ctx: Arc<ActivityContext>,
    runtime: Handle,
    /// The beat before is not done yet: a codec may take its time, or no thread of the runtime is free.
    is_beating: AtomicBool,
}

impl Beater {
    /// Runs `body` with heartbeats.
    ///
    /// When the activity is cancelled, or its worker shuts down, the body has `grace` to end by itself.
    ///
    /// # Errors
    /// [`ActivityError::Cancelled`] when it did not; it is dropped then.
    pub(crate) async fn beating<T>(
        &self,
        ctx: &Arc<ActivityContext>,
        grace: Duration,
        body: impl Future<Output = T>,
    ) -> Result<T, ActivityError> {
        let _until_dropped = self.start(ctx);
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
    fn start(&self, ctx: &Arc<ActivityContext>) -> Option<UntilDropped<'_>> {
        let timeout = ctx.info().heartbeat_timeout.filter(|timeout| !timeout.is_zero())?;
        let period = (timeout / PER_TIMEOUT).max(SHORTEST);
        let attempt = Attempt { ctx: Arc::clone(ctx), runtime: Handle::current(), is_beating: AtomicBool::new(false) };
        let mut beats = self.0.lock();
        let (number, due) = beats.schedule.add(Arc::new(attempt), period, Instant::now());
        match beats.looks_at {
            Some(looks_at) if due < looks_at => self.0.earlier.notify_one(),
            Some(_) => {}
            None => {
                let shared = Arc::clone(&self.0);
                match thread::Builder::new().name("agents-heartbeats".to_owned()).spawn(move || beat(&shared)) {
                    Ok(_) => beats.looks_at = Some(due),
                    Err(error) => {
                        drop(beats);
                        tracing::warn!(%error, "there are no heartbeats until another activity begins: no thread for them");
                    }
                }
            }
        }
        Some(UntilDropped { beater: self, number })
    }
}

/// An activity beats.
struct UntilDropped<'b> {
    beater: &'b Beater,
    number: u64,
}

impl Drop for UntilDropped<'_> {
    fn drop(&mut self) {
        // Not dropped under the lock: it may be the last one to hold the context.
        let _done = self.beater.0.lock().schedule.remove(self.number);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Beats> {
        self.beats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The thread: beats for as long as anything may be due.
fn beat(shared: &Shared) {
    let _frees_its_place = WhenItPanics(shared);
    let mut beats = shared.lock();
    loop {
        let due = beats.schedule.take_due(Instant::now());
        if !due.is_empty() {
            // Not under the lock: there may be many, and bodies begin and end meanwhile.
            drop(beats);
            for attempt in due {
                attempt.beat();
            }
            beats = shared.lock();
            continue;
        }
        let now = Instant::now();
        beats.looks_at = match (beats.schedule.first(), beats.looks_at) {
            (Some(due), _) => Some(due),
            // It stays until then: activities that come one after another need not start one each.
            (None, Some(looks_at)) if looks_at > now => Some(looks_at),
            (None, _) => None,
        };
        let Some(looks_at) = beats.looks_at else { return };
        let woken = shared.earlier.wait_timeout(beats, looks_at.saturating_duration_since(now));
        (beats, _) = woken.unwrap_or_else(PoisonError::into_inner);
    }
}

impl Attempt {
    /// Sends a beat, unless the one before is still under way.
    fn beat(self: Arc<Self>) {
        if self.is_beating.swap(true, Ordering::AcqRel) {
            return;
        }
        let runtime = self.runtime.clone();
        runtime.spawn(async move {
            let _done = WhenDone(&self.is_beating);
            if let Err(error) = self.ctx.record_heartbeat(()).await {
                tracing::warn!(%error, activity_id = self.ctx.info().activity_id, "a heartbeat could not be encoded");
            }
        });
    }
}

/// Lets the next beat follow, also where this one panics: a codec may.
struct WhenDone<'b>(&'b AtomicBool);

impl Drop for WhenDone<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// Lets the next activity start another thread, should this one panic.
struct WhenItPanics<'s>(&'s Shared);

impl Drop for WhenItPanics<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.lock().looks_at = None;
        }
    }
}

#[cfg(test)]
mod tests;
