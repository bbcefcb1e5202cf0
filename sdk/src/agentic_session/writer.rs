//! The one writer of a session's checkpoints.
//!
//! The SDK sends heartbeats at most every 0.8 heartbeat timeouts, so that a crash would cost all turns since the last one that it has sent. The
//! writer therefore hands each checkpoint to the SDK, for its timer and for the failure of the attempt, and then sends it itself, by the
//! activity's task token, and waits until the server has it. What the SDK was sending meanwhile may be older and arrive later: each
//! checkpoint is sent once more a little later, unless a newer one has followed.
//!
//! Heartbeats replace each other, details and all. So those that only say that the activity lives carry the latest checkpoint, too.
//!
//! # Design
//! With the SDK's timer alone, a session that is killed in its eighth turn, with a heartbeat
//! timeout of 60 s and turns of 2 s, loses all eight turns (`Heartbeats::Throttled`); written at
//! once, it loses the model call that was under way.
//!
//! **An `ActivityEnvironment` is recognised by its task token.** A context of the SDK says neither
//! that it is one of a test nor whether it has a client, and requesting a client that is not there
//! panics. The environment's token is the text `test`, and no server's is: theirs are protobuf
//! messages, and the first byte of this would end a group that has not begun. Nothing can be sent
//! to a server then, so checkpoints are handed to the SDK only, and an activity is tested with the
//! options that it has in production.

use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use temporalio_client::{ActivityIdentifier, AsyncActivityHandle, Client, RpcOptions, errors::AsyncActivityError};
use temporalio_common::{data_converters::RawValue, protos::temporal::api::common::v1::Payload};
use temporalio_sdk::activities::{ActivityContext, ActivityInfo};
use tokio::{
    sync::{Mutex as AsyncMutex, Notify},
    time::{Instant, sleep, timeout},
};

use super::{
    end::{End, Why},
    error::{CheckpointError, Ended},
    progress::Progress,
    store::{Kept, Storage},
};
use crate::wire::size::{Bytes, MOST_BYTES};

/// How long after a checkpoint the SDK may still be sending an older one.
const OLDER_ONE: Duration = Duration::from_secs(1);
/// The longest pause between two attempts to reach the server.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// How checkpoints reach the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Heartbeats {
    /// At once, each of them. In an `ActivityEnvironment` (with its default task token), which has no server to send them to, the SDK alone is
    /// given them.
    #[default]
    Direct,
    /// When the SDK sends heartbeats: at most every 0.8 heartbeat timeouts, or every 60 s. A crash costs all turns since then. For workers
    /// with a short `max_heartbeat_throttle_interval`.
    Throttled,
}

/// The writer.
pub(super) struct Writer {
    ctx: ActivityContext,
    handle: Option<AsyncActivityHandle<Client>>,
    progress: Arc<Progress>,
    storage: Storage,
    end: Arc<End>,
    /// What was handed over last; what an earlier attempt has left, until then. Held while it is handed over, so that nothing older comes after it.
    latest: AsyncMutex<Option<RawValue>>,
    is_near_limit: AtomicBool,
    sent: AsyncMutex<Sent>,
    written: Notify,
}

struct Sent {
    change: u64,
    at: Instant,
    /// Whether nothing older can come after it.
    is_settled: bool,
    kept: Kept,
}

impl Writer {
    pub(super) fn new(
        ctx: &ActivityContext,
        heartbeats: Heartbeats,
        progress: Arc<Progress>,
        storage: Storage,
        end: Arc<End>,
    ) -> Self {
        let is_direct = heartbeats == Heartbeats::Direct && has_server(ctx.info());
        let handle = is_direct.then(|| {
            let token = ActivityIdentifier::TaskToken(ctx.info().task_token.clone().into());
            ctx.client().get_async_activity_handle(token)
        });
        let left = ctx.heartbeat_details().raw();
        let latest = (!left.is_empty()).then(|| RawValue::new(left.to_vec()));
        let sent = Sent { change: 0, at: Instant::now(), is_settled: true, kept: Kept::default() };
        Self {
            ctx: ctx.clone(),
            handle,
            progress,
            storage,
            end,
            latest: AsyncMutex::new(latest),
            is_near_limit: AtomicBool::new(false),
            sent: AsyncMutex::new(sent),
            written: Notify::new(),
        }
    }

    /// Waits until the server has what must be written before anything else takes effect. When that cannot be, the session ends: what would
    /// come next must not happen.
    ///
    /// # Errors
    /// [`Ended`], also when it had ended before.
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

    /// Hands the latest to the SDK, without waiting: the failure of an attempt carries it.
    pub(super) async fn leave(&self) {
        let mut sent = self.sent.lock().await;
        if sent.change < self.progress.changes()
            && let Ok((details, _)) = self.encode(&mut sent).await
        {
            self.hand_over(Some(details)).await;
        }
    }

    /// Hands a checkpoint to the SDK, or the latest once more.
    async fn hand_over(&self, newer: Option<RawValue>) {
        let mut latest = self.latest.lock().await;
        if newer.is_some() {
            *latest = newer;
        }
        // JSON text as it is: nothing to convert that could fail but a codec, and that fails where it is sent, too.
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
        let (details, change) = self.encode(&mut sent).await?;
        self.hand_over(Some(details.clone())).await;
        self.send(details).await?;
        sent.change = change;
        sent.at = Instant::now();
        sent.is_settled = self.handle.is_none();
        self.written.notify_one();
        self.storage.drop_older(&mut sent.kept).await;
        Ok(())
    }

    /// The details of a heartbeat: the checkpoint, or where it is kept.
    async fn encode(&self, sent: &mut Sent) -> Result<(RawValue, u64), CheckpointError> {
        let (picture, change) = self.progress.picture();
        let json = serde_json::to_string(&picture).map_err(|source| CheckpointError::Unwritable { source })?;
        let json = self.storage.fit(json, &mut sent.kept).await?;
        if json.len() > MOST_BYTES {
            return Err(CheckpointError::TooLarge { bytes: json.len(), limit: MOST_BYTES, turns: picture.turns });
        }
        if json.len() > MOST_BYTES / 4 * 3 && !self.is_near_limit.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                size = %Bytes(json.len()),
                limit = %Bytes(MOST_BYTES),
                turns = picture.turns,
                "the session's checkpoint nears the limit of a heartbeat; give the run a compaction or the session a checkpoint store"
            );
        }
        Ok((json_payload(json), change))
    }

    /// Sends it until the server has it.
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
                // It has timed out, or its workflow is over: whatever it does now, nobody hears of it.
                Err(AsyncActivityError::NotFound(_)) => return Err(CheckpointError::Gone),
                Err(AsyncActivityError::PayloadConversion(source)) => {
                    return Err(CheckpointError::Unencodable { source: source.into() });
                }
                Err(AsyncActivityError::Rpc(status)) if is_permanent(&status) => {
                    return Err(CheckpointError::Refused { source: Box::new(status) });
                }
                Err(error) => {
                    tracing::warn!(%error, "the server has not taken a checkpoint; the session waits until it does");
                    sleep(pause).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
            }
        }
    }

    /// Says that the activity lives.
    pub(super) async fn beat(&self) {
        self.hand_over(None).await;
    }

    /// Why the SDK says that the activity is cancelled, as the server tells.
    pub(super) async fn why_cancelled(&self) -> Why {
        let Some(handle) = &self.handle else { return Why::Cancelled };
        let latest = self.latest.lock().await.clone();
        let asking = handle.heartbeat(latest, RpcOptions::default());
        match timeout(OLDER_ONE, asking).await {
            Ok(Ok(response)) if response.cancel_requested => Why::Cancelled,
            Ok(Ok(response)) if response.activity_paused || response.activity_reset => Why::Paused,
            Ok(Err(AsyncActivityError::NotFound(_))) => Why::Checkpoint(CheckpointError::Gone),
            _ => Why::Stopped,
        }
    }

    /// Sends each checkpoint once more that is the latest for a while.
    pub(super) async fn send_again(&self) -> Infallible {
        loop {
            self.written.notified().await;
            sleep(OLDER_ONE).await;
            // Whoever writes now sends what is newer.
            let Ok(mut sent) = self.sent.try_lock() else { continue };
            if sent.is_settled || sent.at.elapsed() < OLDER_ONE {
                continue;
            }
            let latest = self.latest.lock().await.clone();
            if let Some(details) = latest
                && self.send(details).await.is_ok()
            {
                sent.is_settled = true;
            }
        }
    }
}

/// Whether a server has given out this attempt; none has in a test with the SDK's `ActivityEnvironment`, where nothing can be sent, and the
/// client of the context, which it may not have, must not be asked for.
///
/// The task token tells: that of the environment is the text `test`, unless the test has chosen another. No server's token is: they are protobuf
/// messages, and one that begins with a `t` would begin with the end of a group.
fn has_server(info: &ActivityInfo) -> bool {
    info.task_token != b"test"
}

/// Whether a server that says so will not say anything else later.
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

/// JSON text as a payload, as the SDK's own converter writes it.
fn json_payload(json: String) -> RawValue {
    let metadata = [("encoding".to_owned(), b"json/plain".to_vec())].into_iter().collect();
    RawValue::new(vec![Payload { metadata, data: json.into_bytes(), ..Payload::default() }])
}
