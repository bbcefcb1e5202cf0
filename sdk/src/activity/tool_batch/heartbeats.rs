//! The heartbeats of a batch: the outcomes of the calls that have ended, and the latest deltas of
//! those that have not.
//!
//! The SDK sends heartbeats at most every 0.8 heartbeat timeouts, so an outcome is sent past it, by
//! the activity's task token, one heartbeat after another. The heartbeats by which the activity
//! reports that it is alive go through the SDK and carry the same details. One of them may be under
//! way while an outcome is sent, and arrive after it: the outcome is then sent once more.
//!
//! Nothing waits for these heartbeats but the failure of an attempt. If one is lost, the next
//! attempt makes a call again that had ended.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures::{FutureExt, future::BoxFuture};
use temporal_agents_core::{
    drive::guard::guarded,
    wire::{
        RecordedFailure,
        delta_window::DeltaWindow,
        size::{MOST_BYTES, encoded_len},
        tool_batch::{BatchedDeltas, BatchedFailure, BatchedOutcome, ToolBatchDetails, index_in},
    },
};
use temporalio_client::{
    ActivityHeartbeatResponse, ActivityIdentifier, AsyncActivityHandle, Client, RpcOptions, errors::AsyncActivityError,
};
use temporalio_common::data_converters::PayloadConversionError;
use temporalio_sdk::activities::ActivityContext;
use tokio::{
    sync::Mutex as AsyncMutex,
    time::{Instant, sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::super::heartbeat::BeatDetails;
use crate::deltas::WindowCarrier;

/// The longest time that a request may take.
const TIME_LIMIT: Duration = Duration::from_secs(5);
/// The number of attempts to send the outcomes of an attempt that has failed.
const SENDINGS: u32 = 3;
/// The time after a heartbeat of the SDK during which it may still be under way.
const RESEND_DELAY: Duration = Duration::from_secs(1);
/// Maximum size of the deltas in a heartbeat, in bytes of JSON.
const MAX_DELTAS_BYTES: usize = 17_000;

/// The heartbeats of one attempt.
pub(super) struct BatchHeartbeats {
    ctx: Arc<ActivityContext>,
    handle: Option<AsyncActivityHandle<Client>>,
    state: Mutex<State>,
    /// The change that the server has. Locked while a heartbeat is sent.
    sent: AsyncMutex<u64>,
    stop: CancellationToken,
}

#[derive(Default)]
struct State {
    change: u64,
    outcomes: Vec<BatchedOutcome>,
    /// Size of the outcomes, in bytes of JSON.
    bytes: usize,
    /// The latest one is the last.
    windows: Vec<(u32, DeltaWindow)>,
    /// Time of the last heartbeat that was passed to the SDK.
    beaten: Option<Instant>,
}

impl BatchHeartbeats {
    /// Creates the heartbeats of an attempt, with the outcomes of earlier attempts.
    pub(super) fn new(ctx: &Arc<ActivityContext>) -> Arc<Self> {
        let info = ctx.info();
        // The context of a test has no client, and panics.
        let client = guarded(|| ctx.client()).ok();
        let handle = client.map(|client| {
            client.get_async_activity_handle(ActivityIdentifier::TaskToken(info.task_token.clone().into()))
        });
        let left = ctx.heartbeat_details().raw().first().and_then(|payload| ToolBatchDetails::read(&payload.data));
        let outcomes = left.map(|left| left.outcomes).unwrap_or_default();
        let bytes = outcomes.iter().map(bytes_of).sum();
        let state = Mutex::new(State { outcomes, bytes, ..State::default() });
        let (sent, stop) = (AsyncMutex::default(), CancellationToken::new());
        Arc::new(Self { ctx: Arc::clone(ctx), handle, state, sent, stop })
    }

    /// Returns the token that is cancelled when the server's response to a heartbeat says that the
    /// activity is to end.
    pub(super) fn stop(&self) -> &CancellationToken {
        &self.stop
    }

    /// Returns `true` if no attempt makes this call again.
    pub(super) fn has_ended(&self, index: u32) -> bool {
        self.lock().outcomes.iter().any(|outcome| outcome.index == index && !outcome.is_retried())
    }

    /// Returns the outcomes so far, in no particular order.
    pub(super) fn outcomes(&self) -> Vec<BatchedOutcome> {
        self.lock().outcomes.clone()
    }

    /// Returns the failure of the attempt at this call before the current one.
    pub(super) fn earlier_failure(&self, index: u32) -> Option<RecordedFailure> {
        let state = self.lock();
        let of_call = state.outcomes.iter().find(|outcome| outcome.index == index)?;
        of_call.failure.as_ref().map(BatchedFailure::recorded)
    }

    /// Adds the outcome of a call, for the next heartbeat. One for which there is no room is that
    /// of a call that was not made.
    pub(super) fn ended(&self, outcome: BatchedOutcome) {
        let mut state = self.lock();
        let index = outcome.index;
        if let Some(place) = state.outcomes.iter().position(|earlier| earlier.index == index) {
            let replaced = state.outcomes.remove(place);
            state.bytes -= bytes_of(&replaced);
        }
        state.windows.retain(|(of, _)| *of != index);
        let fits = state.bytes + bytes_of(&outcome) <= MOST_BYTES;
        let outcome = if fits { outcome } else { BatchedOutcome::not_made(index) };
        state.bytes += bytes_of(&outcome);
        state.outcomes.push(outcome);
        state.change += 1;
    }

    /// Sends the latest details in a task of its own.
    pub(super) fn send_soon(self: &Arc<Self>) {
        let heartbeats = Arc::clone(self);
        tokio::spawn(async move {
            heartbeats.send().await;
            let beaten = heartbeats.lock().beaten;
            if beaten.is_some_and(|beaten| beaten.elapsed() < RESEND_DELAY) {
                sleep(RESEND_DELAY).await;
                let _sent = heartbeats.sent.lock().await;
                heartbeats.request().await;
            }
        });
    }

    /// Sends the latest details, and leaves them to the SDK for the failure of the attempt.
    pub(super) async fn leave(&self) {
        for _ in 0..SENDINGS {
            if self.send().await {
                break;
            }
        }
        self.pass_to_sdk().await;
    }

    /// Returns `true` if the server still wants the result of this attempt, which only its response
    /// to a heartbeat says.
    pub(super) async fn is_wanted(&self) -> bool {
        let _sent = self.sent.lock().await;
        let response = self.request().await;
        response
            .is_some_and(|response| !response.cancel_requested && !response.activity_paused && !response.activity_reset)
    }

    /// Sends the latest details, unless the server has them. Returns `true` if it has them now.
    async fn send(&self) -> bool {
        let wanted = self.lock().change;
        let mut sent = self.sent.lock().await;
        if *sent >= wanted {
            return true;
        }
        let now = self.lock().change;
        let was_sent = self.request().await.is_some();
        if was_sent {
            *sent = now;
        }
        was_sent
    }

    /// Sends a heartbeat, and takes notice of the response. Returns `None` without a response.
    async fn request(&self) -> Option<ActivityHeartbeatResponse> {
        let handle = self.handle.as_ref()?;
        let sending = handle.heartbeat(Some(self.details()), RpcOptions::default());
        match timeout(TIME_LIMIT, sending).await.ok()? {
            Ok(response) => {
                if response.cancel_requested {
                    self.stop.cancel();
                }
                Some(response)
            }
            Err(AsyncActivityError::NotFound(_)) => {
                // The activity has ended, or another attempt has begun.
                self.stop.cancel();
                None
            }
            Err(error) => {
                tracing::debug!(%error, "a heartbeat with the outcomes of calls was not accepted");
                None
            }
        }
    }

    /// Passes the latest details to the SDK.
    async fn pass_to_sdk(&self) {
        if let Err(error) = self.beat(&self.ctx).await {
            tracing::warn!(%error, activity_id = self.ctx.info().activity_id, "a heartbeat could not be encoded");
        }
    }

    fn details(&self) -> ToolBatchDetails {
        let state = self.lock();
        let mut left = MAX_DELTAS_BYTES;
        let mut deltas = Vec::new();
        for (index, window) in state.windows.iter().rev() {
            let bytes = encoded_len(window).unwrap_or(usize::MAX);
            if bytes > left {
                break;
            }
            left -= bytes;
            deltas.push(BatchedDeltas { index: *index, window: window.clone() });
        }
        ToolBatchDetails { deltas, ..ToolBatchDetails::new(state.outcomes.clone()) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BeatDetails for BatchHeartbeats {
    /// Passes the latest details to the SDK. They are not sent past it meanwhile, so that an older
    /// heartbeat of the SDK cannot replace a newer one for long.
    fn beat<'a>(&'a self, ctx: &'a ActivityContext) -> BoxFuture<'a, Result<(), PayloadConversionError>> {
        async move {
            let _sent = self.sent.lock().await;
            self.lock().beaten = Some(Instant::now());
            ctx.record_heartbeat(self.details()).await
        }
        .boxed()
    }
}

impl WindowCarrier for BatchHeartbeats {
    fn carry(&self, call: String, window: DeltaWindow) -> BoxFuture<'_, ()> {
        async move {
            let Some(index) = index_in(&self.ctx.info().activity_id, &call) else { return };
            {
                let mut state = self.lock();
                state.windows.retain(|(of, _)| *of != index);
                state.windows.push((index, window));
                state.change += 1;
            }
            let bytes = self.lock().bytes;
            self.send().await;
            // Each heartbeat holds the outcomes again: together they send at most 1 MB a second.
            sleep(Duration::from_micros(bytes as u64)).await;
        }
        .boxed()
    }
}

fn bytes_of(outcome: &BatchedOutcome) -> usize {
    encoded_len(outcome).unwrap_or_default()
}
