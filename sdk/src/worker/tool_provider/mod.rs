//! Offers the tools of a registry to callers outside of Temporal, over streams.
//!
//! | file | contents |
//! |---|---|
//! | here | the provider: it reads requests, within its limits, and ends gracefully |
//! | `request.rs` | one entry of the request stream |
//! | `registration.rs` | the registration of the toolset at gateways, and pongs |
//! | `leases.rs` | what is renewed while calls run, announcements, and cancellations by callers |
//! | `served_call.rs` | one call: its marks, its body, its result |
//! | `output.rs` | parts of outputs on their way to the result stream |
//!
//! # Design
//! **A request is acknowledged after its result is published.** A request whose provider is lost is
//! delivered to another one after the lease, which the provider renews while it works, also while it
//! ends. So a call is made at least once while its caller waits, and marks (`remote/marks.rs`) make
//! it at most once where that counts:
//!
//! - `begun` is written before the body of a tool that is not idempotent. A provider that finds the
//!   mark of another answers `outcome_unknown`, and runs nothing.
//! - `ended` is written in one transaction with the result, and only if it is not there: each call
//!   has one result, whatever providers do.
//!
//! **A call that nobody waits for is not made**: its deadline has passed, its caller has given it up,
//! or its result stream no longer exists. If a caller cancels a call that runs, the provider cancels
//! the body within a third of the lease.
//!
//! **Messages that cannot be served are skipped**, with a line in the log. Requests to the broker are
//! repeated only while the broker is down.

mod leases;
mod output;
mod registration;
mod request;
mod served_call;

use std::{
    collections::BTreeMap,
    future::Future,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicBool},
    time::Duration,
};

use tokio::{
    sync::Semaphore,
    task::JoinSet,
    time::{Instant, sleep, sleep_until, timeout},
};
use uuid::Uuid;

use self::{
    leases::RunningCall,
    registration::{BUSY_PONG_INTERVAL, REGISTRATION_INTERVAL},
    request::Request,
};
use super::tool_registry::ToolRegistry;
use crate::remote::{
    PROVIDER_GROUP,
    gateway::Toolset,
    message::toolset_stream,
    transport::{Entry, EntryId, GroupMember, StreamError, Streams},
};

/// Longest time that one request to the transport waits for entries.
const ONE_WAIT: Duration = Duration::from_secs(1);

/// Pause before a request to a transport that was unavailable is repeated.
const PAUSE: Duration = Duration::from_millis(500);

/// Offers the tools of a [`ToolRegistry`] to callers in any language, over streams: as the toolset
/// whose request stream is `toolset:<name>:requests`.
///
/// ```no_run
/// use temporal_agents::{ToolError, remote::transport::MemoryTransport, tool};
/// use temporal_agents::worker::{ToolProvider, ToolRegistry};
///
/// /// Returns its text.
/// #[tool]
/// async fn echo(text: String) -> String {
///     text
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let tools = ToolRegistry::default().register(echo)?;
/// let provider = ToolProvider::new("demo", tools, MemoryTransport::new());
/// provider.serve(async { tokio::signal::ctrl_c().await.unwrap_or_default() }).await;
/// # Ok(())
/// # }
/// ```
///
/// Several providers of one toolset share its calls. Messages that cannot be read or served are
/// skipped, with a line in the log, and so are calls that nobody waits for.
#[derive(Clone)]
pub struct ToolProvider {
    toolset: String,
    registry: ToolRegistry,
    streams: Arc<dyn Streams>,
    concurrency: usize,
    lease: Duration,
    retention: Duration,
    drain: Duration,
    registered: Option<Toolset>,
    registration_interval: Duration,
}

/// The parts of a provider that its calls use.
struct Shared {
    toolset: String,
    requests: String,
    consumer: String,
    registry: ToolRegistry,
    streams: Arc<dyn Streams>,
    retention: Duration,
    /// The calls in progress, by id.
    running: Mutex<BTreeMap<String, RunningCall>>,
    /// `true` if the toolset is registered, or a gateway has sent a ping.
    is_watched: AtomicBool,
}

impl ToolProvider {
    /// Creates a provider of this toolset.
    pub fn new(toolset: impl Into<String>, registry: ToolRegistry, streams: impl Streams) -> Self {
        Self {
            toolset: toolset.into(),
            registry,
            streams: Arc::new(streams),
            concurrency: 4,
            lease: Duration::from_secs(30),
            retention: Duration::from_mins(15),
            drain: Duration::from_secs(30),
            registered: None,
            registration_interval: REGISTRATION_INTERVAL,
        }
    }

    /// Sets the most calls at a time. Default 4.
    #[must_use]
    pub fn concurrency(mut self, calls: usize) -> Self {
        self.concurrency = calls.max(1);
        self
    }

    /// Sets the time after which a request whose provider is lost is delivered to another one.
    /// Default 30 s. The provider renews it while a call runs, so it may be shorter than a call.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = lease.max(Duration::from_millis(300));
        self
    }

    /// Sets the minimum time for which a result can be read. Defaults to 15 minutes. A call without
    /// a deadline is not begun after this time. A result stream that exists for longer is kept.
    #[must_use]
    pub fn retention(mut self, retention: Duration) -> Self {
        self.retention = retention;
        self
    }

    /// Sets the time that calls in progress have to end once the provider stops. Defaults to 30 s.
    /// Until then no other provider gets their requests. A call that takes longer is dropped.
    /// Another provider then makes it again if its tool is idempotent, and else answers
    /// `outcome_unknown`.
    #[must_use]
    pub fn drain(mut self, drain: Duration) -> Self {
        self.drain = drain;
        self
    }

    /// Serves calls until `stop` ends, and then those in progress.
    ///
    /// Errors of the transport are logged, and the request is repeated: a provider waits for a
    /// broker that is down, and begins anew at one that has lost everything.
    pub async fn serve(&self, stop: impl Future<Output = ()>) {
        self.serve_with(stop, || ()).await;
    }

    /// Serves calls as [`serve`](Self::serve) does, and calls `ready` once the first call would be
    /// received.
    pub async fn serve_with(&self, stop: impl Future<Output = ()>, ready: impl FnOnce()) {
        let shared = Arc::new(Shared {
            toolset: self.toolset.clone(),
            requests: toolset_stream(&self.toolset),
            consumer: Uuid::new_v4().to_string(),
            registry: self.registry.clone(),
            streams: Arc::clone(&self.streams),
            retention: self.retention,
            running: Mutex::default(),
            is_watched: AtomicBool::new(self.registered.is_some()),
        });
        let mut calls = JoinSet::new();
        let working = async {
            {
                let serving = self.read_requests(&shared, &mut calls, ready);
                let registered = shared.keep_registered(self.registered.clone(), self.registration_interval);
                tokio::select! {
                    biased;
                    () = stop => {}
                    () = serving => {}
                    () = registered => {}
                    () = shared.keep_announced() => {}
                }
            }
            let drained = async { while calls.join_next().await.is_some() {} };
            if timeout(self.drain, drained).await.is_err() {
                tracing::warn!(toolset = self.toolset, "calls were in progress when the provider stopped");
            }
        };
        tokio::select! {
            biased;
            () = working => {}
            () = shared.keep_leases(self.lease / 3) => {}
        }
    }

    async fn read_requests(&self, shared: &Arc<Shared>, calls: &mut JoinSet<()>, ready: impl FnOnce()) {
        let mut ready = Some(ready);
        let room = Arc::new(Semaphore::new(self.concurrency));
        let mut has_group = false;
        let mut claims_at = Instant::now();
        let mut busy_at = Instant::now() + BUSY_PONG_INTERVAL;
        loop {
            while calls.try_join_next().is_some() {}
            if !has_group {
                let created = shared.streams.create_group(&shared.requests, PROVIDER_GROUP, shared.retention).await;
                has_group = shared.succeeded("the group of providers cannot be created", created).await.is_some();
                if has_group && let Some(ready) = ready.take() {
                    ready();
                }
                continue;
            }
            // Waits for room before it takes requests: those beyond it are for other providers.
            let permit = tokio::select! {
                biased;
                permit = Arc::clone(&room).acquire_owned() => permit,
                () = sleep_until(busy_at) => {
                    busy_at = Instant::now() + BUSY_PONG_INTERVAL;
                    shared.pong_while_busy().await;
                    continue;
                }
            };
            let Ok(permit) = permit else { return };
            busy_at = Instant::now() + BUSY_PONG_INTERVAL;
            let taken = if Instant::now() >= claims_at {
                claims_at = Instant::now() + self.lease / 3;
                shared.renew().await;
                shared.streams.claim_idle(shared.member(), self.lease, 1).await
            } else {
                Ok(Vec::new())
            };
            let taken = match taken {
                Ok(claimed) if claimed.is_empty() => {
                    let wait = ONE_WAIT.min(self.lease / 3);
                    shared.streams.read_group(shared.member(), 1, wait).await
                }
                claimed => {
                    // There may be more.
                    claims_at = Instant::now();
                    claimed
                }
            };
            if matches!(taken, Err(StreamError::NoGroup { .. })) {
                has_group = false;
                continue;
            }
            let Some(taken) = shared.succeeded("requests cannot be read", taken).await else { continue };
            if let Some(entry) = taken.into_iter().next() {
                let shared = Arc::clone(shared);
                calls.spawn(async move {
                    let _room = permit;
                    shared.handle(entry).await;
                });
            }
        }
    }
}

impl Shared {
    /// Handles one entry of the request stream.
    async fn handle(self: Arc<Self>, entry: Entry) {
        let id = entry.id;
        match Request::read(&self.toolset, &entry) {
            Request::Call(call, streams) => self.call(id, *call, streams).await,
            Request::Ping(ping_id) => {
                self.answer_ping(ping_id).await;
                self.acknowledge(vec![id]).await;
            }
            Request::Unreadable(reason) => {
                tracing::warn!(toolset = self.toolset, entry = %id, reason, "a request is skipped");
                self.acknowledge(vec![id]).await;
            }
        }
    }

    fn member(&self) -> GroupMember<'_> {
        GroupMember { stream: &self.requests, group: PROVIDER_GROUP, consumer: &self.consumer }
    }

    /// Acknowledges entries; one attempt: what is not acknowledged is delivered again, and finds
    /// its result.
    async fn acknowledge(&self, ids: Vec<EntryId>) {
        if let Err(error) = self.streams.acknowledge(&self.requests, PROVIDER_GROUP, &ids).await {
            tracing::debug!(toolset = self.toolset, %error, "a request could not be acknowledged");
        }
    }

    fn running(&self) -> MutexGuard<'_, BTreeMap<String, RunningCall>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Repeats a request to the transport while the transport is down.
    ///
    /// # Errors
    /// [`StreamError::Name`] and [`StreamError::NoGroup`], which no repetition changes.
    async fn retry_while_down<T, F>(&self, problem: &str, request: impl Fn() -> F) -> Result<T, StreamError>
    where
        F: Future<Output = Result<T, StreamError>>,
    {
        loop {
            match request().await {
                Err(error @ (StreamError::Name { .. } | StreamError::NoGroup { .. })) => return Err(error),
                outcome => {
                    if let Some(value) = self.succeeded(problem, outcome).await {
                        return Ok(value);
                    }
                }
            }
        }
    }

    /// Returns the value of a request to the transport; after an error, logs it and pauses.
    async fn succeeded<T>(&self, problem: &str, outcome: Result<T, StreamError>) -> Option<T> {
        match outcome {
            Ok(value) => Some(value),
            Err(error) => {
                tracing::warn!(toolset = self.toolset, %error, "{problem}");
                sleep(PAUSE).await;
                None
            }
        }
    }
}

impl std::fmt::Debug for ToolProvider {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolProvider")
            .field("toolset", &self.toolset)
            .field("registry", &self.registry)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
