//! Heartbeats for as long as an activity's body runs, and its end when the activity is cancelled.

use std::{future::Future, time::Duration};

use temporalio_sdk::activities::{ActivityContext, ActivityError};
use tokio::time::{MissedTickBehavior, interval};

/// Without a heartbeat timeout nothing is due; the loop then only waits for cancellation.
const IDLE: Duration = Duration::from_hours(1);
/// The SDK sends at most one heartbeat per 0.8 timeouts and drops the others, so often is cheap.
const PER_TIMEOUT: u32 = 4;

/// Runs `body` with a heartbeat from its first moment on.
///
/// # Errors
/// [`ActivityError::Cancelled`] when the activity is cancelled or the worker shuts down; `body` is dropped then.
pub(super) async fn beating<T>(ctx: &ActivityContext, body: impl Future<Output = T>) -> Result<T, ActivityError> {
    let period = ctx.info().heartbeat_timeout.map_or(IDLE, |timeout| timeout / PER_TIMEOUT);
    let mut ticks = interval(period.max(Duration::from_millis(10)));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    tokio::pin!(body);
    loop {
        tokio::select! {
            biased;
            _ = ticks.tick() => ctx.record_heartbeat(()).await?,
            output = &mut body => return Ok(output),
            () = ctx.cancelled() => return Err(ActivityError::cancelled()),
        }
    }
}
