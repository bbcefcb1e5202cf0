//! The only writer of a session's checkpoints.
//!
//! The SDK sends heartbeats at most every 0.8 heartbeat timeouts, so that a crash would cost all
//! turns since the last heartbeat that it has sent. The writer therefore passes each checkpoint to
//! the SDK, for its timer and for the failure of the attempt, then sends it itself by the
//! activity's task token, and waits until the server has it. A heartbeat that the SDK was sending
//! at the same time may be older and arrive later: each checkpoint is therefore sent a second time
//! a little later, unless a newer one has followed.
//!
//! A heartbeat replaces the previous one, including its details. Heartbeats that only report that
//! the activity is alive therefore also carry the latest checkpoint.
//!
//! A heartbeat with deltas carries the latest checkpoint that was written, and is not sent while
//! another is written. A checkpoint may wait for the response to one such heartbeat, 1 s at most.
//!
//! # Design
//! With the SDK's timer alone, a session that is killed in its eighth turn, with a heartbeat
//! timeout of 60 s and turns of 2 s, loses all eight turns (`Heartbeats::Throttled`); written at
//! once, it loses the model call that was in progress.
//!
//! **An `ActivityEnvironment` is recognised by its task token.** A context of the SDK reports
//! neither that it belongs to a test nor that it has a client, and requesting the client of a
//! context that has none panics. The environment's token is the string `test`, which no server
//! returns: the tokens of servers are protobuf messages, and the first byte of this string would
//! end a group that has not begun. Nothing can be sent to a server then, so checkpoints are passed
//! only to the SDK, and an activity is tested with the options that it has in production.

use std::{convert::Infallible, sync::Arc, time::Duration};

use temporalio_client::{ActivityIdentifier, AsyncActivityHandle, Client, RpcOptions, errors::AsyncActivityError};
use temporalio_common::data_converters::RawValue;
use temporalio_sdk::activities::{ActivityContext, ActivityInfo};
use tokio::{
    sync::{Mutex as AsyncMutex, Notify},
    time::{Instant, sleep, timeout},
};

use super::{
    delta_heartbeats::{with_deltas, without_deltas},
    encoder::{Encoded, Encoder},
    end::{End, Why},
    error::{CheckpointError, Ended},
    progress::Progress,
    store::Kept,
};

/// The time after a checkpoint during which the SDK may still be sending an older one.
const RESEND_DELAY: Duration = Duration::from_secs(1);
/// The longest pause between two attempts to reach the server.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// The longest time that a heartbeat with deltas may take: a checkpoint may wait for it.
const DELTAS_TIME_LIMIT: Duration = Duration::from_secs(1);

/// The way in which checkpoints reach the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Heartbeats {
    /// Each checkpoint is sent at once. In an `ActivityEnvironment` (with its default task token),
    /// which has no server to send to, checkpoints are passed only to the SDK.
    #[default]
    Direct,
    /// Checkpoints are sent when the SDK sends heartbeats: at most every 0.8 heartbeat timeouts, or
    /// every 60 s. A crash costs all turns since then. For workers with a short
    /// `max_heartbeat_throttle_interval`.
    Throttled,
}

/// Writes the checkpoints of a session to the server.
pub(super) struct Writer {
    ctx: ActivityContext,
    handle: Option<AsyncActivityHandle<Client>>,
    progress: Arc<Progress>,
    encoder: Encoder,
    end: Arc<End>,
    /// The details that were last passed to the SDK; until then, those of an earlier attempt.
    /// Locked while they are passed, so that no older details can follow them.
    latest: AsyncMutex<Option<RawValue>>,
    sent: AsyncMutex<Sent>,
    written: Notify,
}

struct Sent {
    change: u64,
    at: Instant,
    /// `true` if no older checkpoint can still arrive after this one.
    wait_until_written: bool,
    kept: Kept,
}

impl Writer {
    pub(super) fn new(
        ctx: &ActivityContext,
        heartbeats: Heartbeats,
        progress: Arc<Progress>,
        encoder: Encoder,
        end: Arc<End>,
    ) -> Self {
        let is_direct = heartbeats == Heartbeats::Direct && has_server(ctx.info());
        let handle = is_direct.then(|| {
            let token = ActivityIdentifier::TaskToken(ctx.info().task_token.clone().into());
            ctx.client().get_async_activity_handle(token)
        });
        let left = ctx.heartbeat_details().raw();
        let latest = (!left.is_empty()).then(|| RawValue::new(left.to_vec()));
        let latest = latest.map(|left| without_deltas(&left).unwrap_or(left));
        let sent = Sent { change: 0, at: Instant::now(), wait_until_written: true, kept: Kept::default() };
        Self {
            ctx: ctx.clone(),
            handle,
            progress,
            encoder,
            end,
            latest: AsyncMutex::new(latest),
            sent: AsyncMutex::new(sent),
            written: Notify::new(),
        }
    }

    /// Waits until the server has all changes that must be written before anything else takes
    /// effect. When they cannot be written, the session ends, because later effects must not take
    /// place.
    ///
    /// # Errors
    /// [`Ended`], including when the session had ended before.
    pub(super) async fn settle(&self) -> Result<(), Ended> {
        let written = self.end.token().run_until_cancelled(self.write(self.progress.due())).await;
        match written.unwrap_or(Err(CheckpointError::Cancelled)) {
            Ok(()) => Ok(()),
            Err(CheckpointError::Cancelled) => Err(Ended),
            Err(error) => {
                self.end.come(Why::Checkpoint(error));
                Err(Ended)
            }
        }
    }

    /// Passes the latest checkpoint to the SDK, without sending it: the failure of an attempt
    /// carries it.
    pub(super) async fn leave(&self) {
        let mut sent = self.sent.lock().await;
        if sent.change < self.progress.changes()
            && let Ok(Some(Encoded { details, .. })) = self.encoder.encode(&mut sent.kept).await
        {
            self.pass_to_sdk(Some(details)).await;
        }
    }

    /// Passes a checkpoint to the SDK, or the latest one again.
    async fn pass_to_sdk(&self, newer: Option<RawValue>) {
        let mut latest = self.latest.lock().await;
        if newer.is_some() {
            *latest = newer;
        }
        // The payload is already encoded: only a codec could fail, and a codec that fails here also
        // fails where the checkpoint is sent.
        let _ = match &*latest {
            Some(details) => self.ctx.record_heartbeat(details.clone()).await,
            None => self.ctx.record_heartbeat(()).await,
        };
    }

    async fn write(&self, wanted: u64) -> Result<(), CheckpointError> {
        let mut sent = self.sent.lock().await;
        if sent.change >= wanted {
            return Ok(());
        }
        let Some(Encoded { details, change }) = self.encoder.encode(&mut sent.kept).await? else { return Ok(()) };
        self.pass_to_sdk(Some(details.clone())).await;
        self.send(details).await?;
        sent.change = change;
        sent.at = Instant::now();
        sent.wait_until_written = self.handle.is_none();
        self.written.notify_one();
        self.encoder.remove_replaced(&mut sent.kept).await;
        Ok(())
    }

    /// Sends the details, and repeats until the server has them.
    async fn send(&self, details: RawValue) -> Result<(), CheckpointError> {
        let Some(handle) = &self.handle else { return Ok(()) };
        let mut pause = Duration::from_millis(100);
        loop {
            let sending = handle.heartbeat(Some(details.clone()), RpcOptions::default());
            match sending.await {
                Ok(response) => {
                    self.end.heed(&response);
                    return Ok(());
                }
                // The activity has timed out, or its workflow is closed: the server ignores all
                // that this attempt reports.
                Err(AsyncActivityError::NotFound(_)) => return Err(CheckpointError::Gone),
                Err(AsyncActivityError::PayloadConversion(source)) => {
                    return Err(CheckpointError::ConverterRefused { source: source.into() });
                }
                Err(AsyncActivityError::Rpc(status)) if is_permanent(&status) => {
                    return Err(CheckpointError::Refused { source: Box::new(status) });
                }
                Err(error) => {
                    tracing::warn!(%error, "the server has not accepted a checkpoint; the session waits until it does");
                    sleep(pause).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
            }
        }
    }

    /// Sends the latest checkpoint again, with the windows of deltas beside it, and waits for the
    /// response. Returns the size of the heartbeat in bytes; 0 if none was sent.
    pub(super) async fn send_with_deltas(&self, windows: &str) -> usize {
        let Some(handle) = &self.handle else { return 0 };
        // No checkpoint is written meanwhile, so that this one cannot replace a newer one.
        let mut sent = self.sent.lock().await;
        let details = self.latest.lock().await.as_ref().and_then(|latest| with_deltas(latest, windows));
        let Some(details) = details else { return 0 };
        let bytes = details.payloads[0].data.len();
        let sending = handle.heartbeat(Some(details), RpcOptions::default());
        match timeout(DELTAS_TIME_LIMIT, sending).await {
            Ok(Ok(response)) => self.end.heed(&response),
            Ok(Err(error)) => tracing::debug!(%error, "a heartbeat with deltas was not accepted"),
            Err(_) => {
                // It may still arrive, after a newer checkpoint, which is therefore sent again.
                sent.wait_until_written = false;
                self.written.notify_one();
            }
        }
        bytes
    }

    /// Heartbeats with the latest checkpoint, to report that the activity is alive.
    pub(super) async fn beat(&self) {
        self.pass_to_sdk(None).await;
    }

    /// Returns the reason why the activity is cancelled, which only the server's response to a
    /// heartbeat tells apart.
    pub(super) async fn cancellation_reason(&self) -> Why {
        let Some(handle) = &self.handle else { return Why::Cancelled };
        let latest = self.latest.lock().await.clone();
        let asking = handle.heartbeat(latest, RpcOptions::default());
        match timeout(RESEND_DELAY, asking).await {
            Ok(Ok(response)) if response.cancel_requested => Why::Cancelled,
            Ok(Ok(response)) if response.activity_paused || response.activity_reset => Why::Paused,
            Ok(Err(AsyncActivityError::NotFound(_))) => Why::Checkpoint(CheckpointError::Gone),
            _ => Why::Stopped,
        }
    }

    /// Sends each checkpoint a second time if no newer one follows it for a while.
    pub(super) async fn resend_loop(&self) -> Infallible {
        loop {
            self.written.notified().await;
            sleep(RESEND_DELAY).await;
            // If the lock is held, a newer checkpoint is being sent, or this one with deltas.
            let Ok(mut sent) = self.sent.try_lock() else { continue };
            if sent.wait_until_written || sent.at.elapsed() < RESEND_DELAY {
                continue;
            }
            let latest = self.latest.lock().await.clone();
            if let Some(details) = latest
                && self.send(details).await.is_ok()
            {
                sent.wait_until_written = true;
            }
        }
    }
}

/// `true` if a server has created this attempt. `false` in a test with the SDK's
/// `ActivityEnvironment`, where nothing can be sent, and the client of the context, which may be
/// absent, must not be requested.
///
/// The task token decides: that of the environment is the string `test`, unless the test has set
/// another. No server returns such a token: the tokens of servers are protobuf messages, and one
/// that begins with a `t` would begin with the end of a group.
fn has_server(info: &ActivityInfo) -> bool {
    info.task_token != b"test"
}

/// `true` if the server will return the same status for each later heartbeat.
fn is_permanent(status: &tonic::Status) -> bool {
    use tonic::Code;
    matches!(
        status.code(),
        Code::PermissionDenied
            | Code::Unauthenticated
            | Code::InvalidArgument
            | Code::Unimplemented
            | Code::FailedPrecondition
    )
}
