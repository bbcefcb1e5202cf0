//! How a session is run: its options, its beginning, its end.

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
    end::End,
    error::{AgenticSessionError, failed},
    progress::Progress,
    restore::{Restored, restore},
    session::{AgenticSession, Shared},
    store::{CheckpointStore, Storage},
    writer::{Heartbeats, Writer},
};
use crate::activity::tool::key_of;

/// How long the body of a cancelled session has to end. It is dropped then, which a tool that blocks its thread does not notice: nothing can stop
/// a thread.
const GRACE: Duration = Duration::from_secs(10);
/// How long the last checkpoint of a failed attempt may take.
const LAST_WORDS: Duration = Duration::from_secs(5);
/// Most time between two signs of life.
const LONGEST_BEAT: Duration = Duration::from_secs(10);
const SHORTEST_BEAT: Duration = Duration::from_millis(10);

/// What is not to be as it is by default in a session.
#[derive(Clone)]
pub struct AgenticSessionOptions {
    checkpoint_every: NonZero<u32>,
    heartbeats: Heartbeats,
    approver: Option<Arc<dyn Approver>>,
    store: Option<Arc<dyn CheckpointStore>>,
    spill_over: usize,
    compact_over: usize,
}

impl Default for AgenticSessionOptions {
    fn default() -> Self {
        Self {
            checkpoint_every: NonZero::<u32>::MIN,
            heartbeats: Heartbeats::default(),
            approver: None,
            store: None,
            spill_over: 256_000,
            compact_over: 1_000_000,
        }
    }
}

/// An activity in which a session cannot be.
#[derive(Debug, thiserror::Error)]
#[error(
    "activity {activity:?} is a local activity, whose heartbeats the server does not keep; call it as a regular activity to run an \
     agentic session in it"
)]
struct LocalActivity {
    activity: String,
}

impl AgenticSessionOptions {
    /// A checkpoint before every so many turns only; in between also what the tools have answered is not written. Default 1.
    ///
    /// A crash then costs up to so many turns, and the tools of those turns run again. One that is not idempotent is written all the same,
    /// before and after its call.
    #[must_use]
    pub fn checkpoint_every(mut self, turns: NonZero<u32>) -> Self {
        self.checkpoint_every = turns;
        self
    }

    /// How checkpoints reach the server. Default: at once.
    #[must_use]
    pub fn heartbeats(mut self, heartbeats: Heartbeats) -> Self {
        self.heartbeats = heartbeats;
        self
    }

    /// Who decides on calls that need approval. Without one a run that meets such a call ends paused.
    #[must_use]
    pub fn approver(mut self, approver: impl Approver + 'static) -> Self {
        self.approver = Some(Arc::new(approver));
        self
    }

    /// Where checkpoints go that are larger than [`spill_over`](Self::spill_over): the heartbeat then only says where.
    #[must_use]
    pub fn checkpoint_store(mut self, store: impl CheckpointStore + 'static) -> Self {
        self.store = Some(Arc::new(store));
        self
    }

    /// The size, in bytes of JSON, above which a checkpoint goes to the store, where there is one. Default 256 kB.
    #[must_use]
    pub fn spill_over(mut self, bytes: usize) -> Self {
        self.spill_over = bytes;
        self
    }

    /// The size of what has happened in a run, in bytes of JSON, above which the compaction of its `RunConfig` shortens it, where it has one,
    /// before the next turn: more than the compaction leaves, or each turn asks for it. The run's input is not shortened. Default 1 MB.
    #[must_use]
    pub fn compact_over(mut self, bytes: usize) -> Self {
        self.compact_over = bytes;
        self
    }

    /// Runs the body of an activity as a session: see [`AgenticSession::run`].
    ///
    /// # Errors
    /// What the activity is to fail with.
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
                "the activity of an agentic session has no heartbeat timeout: the server notices the loss of its worker only when the \
                 activity has no time left; 30 s is a good one"
            );
        }
        let scope = key_of(info);
        let storage =
            Storage { store: self.store, spill_over: self.spill_over, scope: scope.clone(), attempt: info.attempt };
        let Restored { checkpoint, is_resumed } = restore(ctx, &storage).await.map_err(|error| {
            let may_pass = error.may_pass();
            failed(error, may_pass)
        })?;
        let (progress, end) = (Arc::new(Progress::new(checkpoint)), Arc::new(End::default()));
        let writer = Writer::new(ctx, self.heartbeats, Arc::clone(&progress), storage, Arc::clone(&end));
        let writer = Arc::new(writer);
        // Whatever the session has begun ends with it.
        let _ends = end.token().clone().drop_guard();
        // Dropped with the session, which aborts it.
        let mut keeper = JoinSet::new();
        keeper.spawn(keep(ctx.clone(), Arc::clone(&writer), Arc::clone(&end)));
        let again = Arc::clone(&writer);
        keeper.spawn(async move { again.send_again().await });
        let shared = Shared {
            ctx: ctx.clone(),
            progress,
            writer: Arc::clone(&writer),
            approver: self.approver,
            checkpoint_every: self.checkpoint_every.get(),
            compact_over: self.compact_over,
            scope,
            is_resumed,
            end: Arc::clone(&end),
        };
        // One that is cancelled before it begins makes no call: its runs are on other threads, and would not wait for the keeper to see it.
        if ctx.cancelled().now_or_never().is_some() {
            end.come(writer.why_cancelled().await);
        }
        // Bodies are large: they hold whole agents.
        let running = Box::pin(body(AgenticSession { shared: Arc::new(shared) }));
        let error = match within_grace(end.token(), running).await {
            Some(Ok(output)) => return Ok(output),
            Some(Err(error)) => end.error().unwrap_or_else(|| error.into_activity_error(info)),
            None => end.error().unwrap_or_else(ActivityError::cancelled),
        };
        // What the attempt has come to goes with its failure, if the store of checkpoints lets it.
        let _ = timeout(LAST_WORDS, writer.leave()).await;
        Err(error)
    }
}

/// What the body ends with; none, when it was cancelled and does not end in time.
async fn within_grace<T>(cancelled: &CancellationToken, body: impl Future<Output = T>) -> Option<T> {
    tokio::pin!(body);
    tokio::select! {
        biased;
        ended = &mut body => return Some(ended),
        () = cancelled.cancelled() => {}
    }
    timeout(GRACE, body).await.ok()
}

/// Says that the activity lives, with its latest checkpoint, until it ends; tells the session when it is cancelled.
async fn keep(ctx: ActivityContext, writer: Arc<Writer>, end: Arc<End>) -> Infallible {
    let timeout = ctx.info().heartbeat_timeout.filter(|timeout| !timeout.is_zero());
    let period = timeout.map_or(LONGEST_BEAT, |timeout| (timeout / 4).clamp(SHORTEST_BEAT, LONGEST_BEAT));
    // The first heartbeat of an attempt is to be its first checkpoint: where the SDK sends them, it sends the one after it much later.
    let mut ticks = interval_at(Instant::now() + period, period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        // A cancelled session lives on while its body cleans up.
        tokio::select! {
            () = ctx.cancelled(), if !end.token().is_cancelled() => end.come(writer.why_cancelled().await),
            _ = ticks.tick() => writer.beat().await,
        }
    }
}

impl std::fmt::Debug for AgenticSessionOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgenticSessionOptions")
            .field("checkpoint_every", &self.checkpoint_every)
            .field("heartbeats", &self.heartbeats)
            .field("spill_over", &self.spill_over)
            .field("compact_over", &self.compact_over)
            .finish_non_exhaustive()
    }
}
