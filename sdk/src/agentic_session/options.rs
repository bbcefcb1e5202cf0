//! The options of a session, and the function that runs it from its restored checkpoint to its end.

use std::{convert::Infallible, future::Future, num::NonZero, sync::Arc, time::Duration};

use futures::FutureExt;
use temporalio_sdk::activities::{ActivityContext, ActivityError};
use tokio::{
    task::JoinSet,
    time::{Instant, MissedTickBehavior, interval_at, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    approver::Approver,
    deltas::SessionDeltas,
    encoder::Encoder,
    end::End,
    error::{AgenticSessionError, failed},
    format::CheckpointFormat,
    progress::Progress,
    restore::{Restored, restore},
    session::{AgenticSession, Shared},
    store::{CheckpointStore, Storage},
    writer::{Heartbeats, Writer},
};
use crate::{activity::tool::key_of, deltas::DeltaTransport};

/// The time that the body of a cancelled session has to end. The body is then dropped, which does
/// not stop a tool that blocks its thread: nothing can stop a thread.
const GRACE: Duration = Duration::from_secs(10);
/// The time limit for the last checkpoint of a failed attempt.
const LAST_WORDS: Duration = Duration::from_secs(5);
/// The longest interval between two heartbeats that only report that the activity is alive.
const MAX_HEARTBEAT_INTERVAL: Duration = Duration::from_secs(10);
const MIN_HEARTBEAT_INTERVAL: Duration = Duration::from_millis(10);

/// Options of an agentic session.
#[derive(Clone)]
pub struct AgenticSessionOptions {
    checkpoint_every: NonZero<u32>,
    heartbeats: Heartbeats,
    format: CheckpointFormat,
    approver: Option<Arc<dyn Approver>>,
    store: Option<Arc<dyn CheckpointStore>>,
    spill_over: usize,
    compaction_threshold: usize,
    deltas: Option<Arc<dyn DeltaTransport>>,
}

impl Default for AgenticSessionOptions {
    fn default() -> Self {
        Self {
            checkpoint_every: NonZero::<u32>::MIN,
            heartbeats: Heartbeats::default(),
            format: CheckpointFormat::default(),
            approver: None,
            store: None,
            spill_over: 256_000,
            compaction_threshold: 1_000_000,
            deltas: None,
        }
    }
}

/// The error of a session in a local activity.
#[derive(Debug, thiserror::Error)]
#[error(
    "activity {activity:?} is a local activity, whose heartbeats the server does not keep; run the agentic session in \
     a regular activity"
)]
struct LocalActivity {
    activity: String,
}

impl AgenticSessionOptions {
    /// Writes a checkpoint only before every `turns` turns; tool outputs in between are not written
    /// either. Default 1.
    ///
    /// A crash then costs up to `turns` turns, and the tools of those turns run again. A tool that
    /// is not idempotent is still recorded before and after its call.
    #[must_use]
    pub fn checkpoint_every(mut self, turns: NonZero<u32>) -> Self {
        self.checkpoint_every = turns;
        self
    }

    /// Sets the way in which checkpoints reach the server. Default: at once.
    #[must_use]
    pub fn heartbeats(mut self, heartbeats: Heartbeats) -> Self {
        self.heartbeats = heartbeats;
        self
    }

    /// Sets the format in which checkpoints are written. Default: that of this crate. With the
    /// format of the ToolRegistry/AgenticSession proposal, an attempt in another language continues
    /// the session: see [`CheckpointFormat`] for what such a session cannot do, and
    /// [the guide](crate::guide::agentic_sessions#attempts-in-other-languages) for what its
    /// checkpoints lose.
    ///
    /// ```
    /// use temporal_agents::agentic_session::{AgenticSession, CheckpointFormat, MessageDialect};
    ///
    /// let format = CheckpointFormat::ProposalString(MessageDialect::Anthropic);
    /// let options = AgenticSession::options().checkpoint_format(format);
    /// ```
    #[must_use]
    pub fn checkpoint_format(mut self, format: CheckpointFormat) -> Self {
        self.format = format;
        self
    }

    /// Sets the approver that decides on calls that need approval. Without an approver, a run that
    /// reaches such a call ends paused.
    #[must_use]
    pub fn approver(mut self, approver: impl Approver + 'static) -> Self {
        self.approver = Some(Arc::new(approver));
        self
    }

    /// Sets the store for checkpoints that are larger than [`spill_over`](Self::spill_over). The
    /// heartbeat then holds only a reference to the checkpoint.
    #[must_use]
    pub fn checkpoint_store(mut self, store: impl CheckpointStore + 'static) -> Self {
        self.store = Some(Arc::new(store));
        self
    }

    /// Sets the size, in bytes of JSON, above which a checkpoint is written to the store, if the
    /// session has one. Default 256 kB.
    #[must_use]
    pub fn spill_over(mut self, bytes: usize) -> Self {
        self.spill_over = bytes;
        self
    }

    /// Sets the size of the items that a run has produced, in bytes of JSON, above which the
    /// compaction of its `RunConfig`, if any, shortens them before the next turn. It must be larger
    /// than the size that the compaction leaves; otherwise each turn requests a compaction. The
    /// run's input is not shortened. Default 1 MB.
    #[must_use]
    pub fn compaction_threshold(mut self, bytes: usize) -> Self {
        self.compaction_threshold = bytes;
        self
    }

    /// Sets the transport of deltas: with one, the models of the session stream, and readers see
    /// tokens, and what tools send, while the session runs. Default none. The transport of the
    /// worker ([`AgentsPlugin::deltas`](crate::AgentsPlugin::deltas)) does not apply, because the
    /// activity of a session is not one of the plugin.
    ///
    /// The deltas have the ids of the session's facts. With
    /// [`HeartbeatDeltas`](crate::worker::HeartbeatDeltas), the heartbeat carries at most 17 KB of
    /// them beside the checkpoint, for all open calls together, and none beside a checkpoint that
    /// leaves no room; each heartbeat with deltas sends the checkpoint again: at
    /// most 1 MB a second. They need [`Heartbeats::Direct`]. An agent with output guardrails sends
    /// no parts of its text or its reasoning. The events of the provider's own stream are not sent.
    /// Without effect with a [`CheckpointFormat`] of the proposal.
    ///
    /// Attempts at a call are numbered from 1 in the first attempt of the activity, from 101 in the
    /// second, and so on: a higher number replaces what the lower ones have sent.
    /// Attempts beyond the 100th at a call send no deltas.
    ///
    /// ```
    /// use temporal_agents::{agentic_session::AgenticSession, worker::HeartbeatDeltas};
    ///
    /// let options = AgenticSession::options().deltas(HeartbeatDeltas::new());
    /// ```
    #[must_use]
    pub fn deltas(mut self, transport: impl DeltaTransport + 'static) -> Self {
        self.deltas = Some(Arc::new(transport));
        self
    }

    /// Runs the body of an activity as a session: see [`AgenticSession::run`].
    ///
    /// # Errors
    /// The failure of the activity: see [`AgenticSession::run`].
    pub async fn run<T, F, Fut>(self, ctx: &ActivityContext, body: F) -> Result<T, ActivityError>
    where
        F: FnOnce(AgenticSession) -> Fut,
        Fut: Future<Output = Result<T, AgenticSessionError>>,
    {
        let info = ctx.info();
        if info.is_local {
            return Err(failed(LocalActivity { activity: info.activity_type.clone() }, false));
        }
        if info.heartbeat_timeout.is_none_or(|timeout| timeout.is_zero()) {
            tracing::warn!(
                activity = info.activity_type,
                "the activity of an agentic session has no heartbeat timeout: the server notices the loss of its \
                 worker only at the start-to-close timeout; set one, for example 30 s"
            );
        }
        let scope = key_of(info);
        let storage =
            Storage { store: self.store, spill_over: self.spill_over, scope: scope.clone(), attempt: info.attempt };
        let Restored { checkpoint, is_resumed } = restore(ctx, &storage).await.map_err(|error| {
            let may_pass = error.may_pass();
            failed(error, may_pass)
        })?;
        let (progress, end) = (Arc::new(Progress::new(checkpoint, self.format)), Arc::new(End::default()));
        let encoder = Encoder::new(Arc::clone(&progress), self.format, storage);
        let writer = Writer::new(ctx, self.heartbeats, Arc::clone(&progress), encoder, Arc::clone(&end));
        let writer = Arc::new(writer);
        // Everything that the session has started ends with it.
        let _ends = end.token().clone().drop_guard();
        // Dropped with the session, which aborts its tasks.
        let mut keeper = JoinSet::new();
        keeper.spawn(keep(ctx.clone(), Arc::clone(&writer), Arc::clone(&end)));
        let again = Arc::clone(&writer);
        keeper.spawn(async move { again.resend_loop().await });
        let deltas = self.deltas.map(|transport| Arc::new(SessionDeltas::new(transport, ctx, &writer)));
        let shared = Shared {
            ctx: ctx.clone(),
            progress,
            writer: Arc::clone(&writer),
            format: self.format,
            approver: self.approver,
            checkpoint_every: self.checkpoint_every.get(),
            compaction_threshold: self.compaction_threshold,
            scope,
            is_resumed,
            deltas,
            end: Arc::clone(&end),
        };
        // A session that is cancelled before it begins makes no call: its runs are on other
        // threads, and would not wait until the keeper notices the cancellation.
        if ctx.cancelled().now_or_never().is_some() {
            end.come(writer.cancellation_reason().await);
        }
        // Boxed, because bodies are large: they hold entire agents.
        let running = Box::pin(body(AgenticSession { shared: Arc::new(shared) }));
        let error = match within_grace(end.token(), running).await {
            Some(Ok(output)) => return Ok(output),
            Some(Err(error)) => end.error().unwrap_or_else(|| error.into_activity_error(info)),
            None => end.error().unwrap_or_else(ActivityError::cancelled),
        };
        // The progress of the attempt is attached to its failure, if the checkpoint store responds
        // in time.
        let _ = timeout(LAST_WORDS, writer.leave()).await;
        Err(error)
    }
}

/// Returns the output of the body, or `None` when the session was cancelled and the body does not
/// end in time.
async fn within_grace<T>(cancelled: &CancellationToken, body: impl Future<Output = T>) -> Option<T> {
    tokio::pin!(body);
    tokio::select! {
        biased;
        ended = &mut body => return Some(ended),
        () = cancelled.cancelled() => {}
    }
    timeout(GRACE, body).await.ok()
}

/// Heartbeats with the latest checkpoint until the activity ends, and ends the session when the
/// activity is cancelled.
async fn keep(ctx: ActivityContext, writer: Arc<Writer>, end: Arc<End>) -> Infallible {
    let timeout = ctx.info().heartbeat_timeout.filter(|timeout| !timeout.is_zero());
    let period = timeout
        .map_or(MAX_HEARTBEAT_INTERVAL, |timeout| (timeout / 4).clamp(MIN_HEARTBEAT_INTERVAL, MAX_HEARTBEAT_INTERVAL));
    // The first heartbeat of an attempt should be its first checkpoint: where the SDK throttles
    // heartbeats, it sends the one that follows much later.
    let mut ticks = interval_at(Instant::now() + period, period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        // A cancelled session still heartbeats while its body cleans up.
        tokio::select! {
            () = ctx.cancelled(), if !end.token().is_cancelled() => end.come(writer.cancellation_reason().await),
            _ = ticks.tick() => writer.beat().await,
        }
    }
}

impl std::fmt::Debug for AgenticSessionOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgenticSessionOptions")
            .field("checkpoint_every", &self.checkpoint_every)
            .field("heartbeats", &self.heartbeats)
            .field("format", &self.format)
            .field("spill_over", &self.spill_over)
            .field("compaction_threshold", &self.compaction_threshold)
            .finish_non_exhaustive()
    }
}
