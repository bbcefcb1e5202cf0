//! Heartbeats for as long as an activity's body runs, and its end when the activity is cancelled.
//!
//! They come from a task of their own: a body that blocks its thread still beats, as long as the worker's runtime has another
//! thread, so that the server does not start a second attempt beside it.
//!
//! The first one is due after a quarter of the timeout: a body that is done by then costs no request to the server.

use std::{future::Future, sync::Arc, time::Duration};

use temporalio_sdk::activities::{ActivityContext, ActivityError};
use tokio::{
    task::{JoinHandle, yield_now},
    time::{Instant, MissedTickBehavior, interval_at, sleep},
};

/// The SDK sends at most one heartbeat per 0.8 timeouts and drops the others, so often is cheap.
const PER_TIMEOUT: u32 = 4;
const SHORTEST: Duration = Duration::from_millis(10);

/// Runs `body` with heartbeats.
///
/// When the activity is cancelled, or its worker shuts down, the body has `grace` to end by itself.
///
/// # Errors
/// [`ActivityError::Cancelled`] when it did not; it is dropped then.
pub(super) async fn beating<T>(
    ctx: &Arc<ActivityContext>,
    grace: Duration,
    body: impl Future<Output = T>,
) -> Result<T, ActivityError> {
    let _beats = Beats::start(ctx);
    // The new task waits in a slot of this thread that no other thread takes from; let it begin before the body may block.
    yield_now().await;
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

/// The task that beats; it ends with this value.
struct Beats(Option<JoinHandle<()>>);

impl Beats {
    fn start(ctx: &Arc<ActivityContext>) -> Self {
        let Some(timeout) = ctx.info().heartbeat_timeout.filter(|timeout| !timeout.is_zero()) else {
            return Self(None);
        };
        let ctx = Arc::clone(ctx);
        Self(Some(tokio::spawn(async move {
            let period = (timeout / PER_TIMEOUT).max(SHORTEST);
            let mut ticks = interval_at(Instant::now() + period, period);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                ticks.tick().await;
                // It has no details, so there is nothing that could not be written.
                let _ = ctx.record_heartbeat(()).await;
            }
        })))
    }
}

impl Drop for Beats {
    fn drop(&mut self) {
        if let Some(task) = &self.0 {
            task.abort();
        }
    }
}
