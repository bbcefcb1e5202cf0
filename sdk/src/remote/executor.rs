//! One call of a remote tool, from the caller's side: the call is published once, and its result is
//! awaited.
//!
//! # Design
//! **A call has one id for ever**, its idempotency key, which names its result stream. The first
//! entry of that stream (`init`) and the call itself are published in one transaction, and only if
//! the stream does not exist. So an attempt that finds the stream knows that the call is published,
//! and only reads, from the oldest entry on: the result may be there already.
//!
//! **A call without a provider is not published.** If the toolset has no provider at work, the call
//! fails within seconds as not made, instead of after its time limit as unknown.
//!
//! **A caller that gives up says so first.** Before it tells the run that there is no result, it
//! marks the call as given up, and no provider begins the call from then on. If the broker or the
//! worker is down and the mark cannot be written, the deadline in the message has the same effect.
//!
//! **A stream that is gone says nothing.** The broker may have lost everything, or the result may
//! have expired. A tool that is idempotent is then called again, with the same id; any other call
//! ends as *outcome unknown*, which the model is told, and which nothing retries. The same holds
//! for a later attempt that finds no stream: the attempt before may have ended between publishing
//! and the loss.
//!
//! **The run never fails.** Whatever a provider or the broker does is a failure of the call, with a
//! message for the model.

use std::{future::Future, sync::Arc, time::Duration};

use futures::FutureExt;
use serde_json::{Map, Value};
use temporal_agents_core::{
    tool::{ActivityBody, ToolContext, ToolError},
    wire::{SideData, ToolOutput, remote_call::RemoteTarget},
};
use tokio::time::{Instant, sleep, timeout};

use super::{
    answer,
    marks::{CallStreams, GivenUp},
    message::{
        CallMessage, OUTPUT_DELTA_EVENT, RESULT_EVENT, ToolCallMessage, ToolOutputDeltaMessage, ToolResultMessage,
    },
    one_call::{Lost, MAX_RESULT_BYTES, MOST_DELTAS, message_of, output_of, unless_cancelled},
    providers_at_work::ProvidersAtWork,
    transport::{Appended, Entry, EntryId, StreamError, Streams},
};

/// Longest time that one request to the transport waits for entries.
const ONE_WAIT: Duration = Duration::from_secs(2);

/// Pause before a request to a transport that was unavailable is repeated.
const PAUSE: Duration = Duration::from_millis(500);

/// Time for which a result stream exists at least.
const SHORTEST_RETENTION: Duration = Duration::from_mins(15);

/// Time for which a result stream exists beyond the wait.
const RETAINED_BEYOND_THE_WAIT: Duration = Duration::from_mins(5);

/// Longest time to mark a call as given up, while the broker is unavailable: less than an activity
/// has beyond the wait for the result.
const MAX_GIVE_UP_TIME: Duration = Duration::from_secs(10);

/// The same after a cancellation: less than an activity has to end.
const MAX_GIVE_UP_TIME_CANCELLED: Duration = Duration::from_secs(3);

/// Most entries that one request returns.
const MOST_ENTRIES: usize = 100;

/// Returns the body of the activity of a call.
pub(crate) fn body(streams: &Arc<dyn Streams>, at_work: &ProvidersAtWork, target: RemoteTarget) -> ActivityBody {
    let broker = Broker { streams: Arc::clone(streams), at_work: at_work.clone() };
    Arc::new(move |ctx: &mut ToolContext, arguments| {
        let broker = broker.clone();
        let target = target.clone();
        async move {
            let outcome = match RemoteCall::new(broker, &target, ctx, arguments) {
                Ok(call) => call.outcome().await?,
                Err(lost) => return Err(lost.failure(ctx, &target)),
            };
            Ok(output_of(ctx, outcome))
        }
        .boxed()
    })
}

/// The streams of a broker, and what is known of its providers.
#[derive(Clone)]
struct Broker {
    streams: Arc<dyn Streams>,
    at_work: ProvidersAtWork,
}

/// A call, at one attempt.
struct RemoteCall<'c> {
    broker: Broker,
    target: &'c RemoteTarget,
    ctx: &'c ToolContext,
    message: CallMessage,
    /// Id of the call, at all attempts.
    id: String,
    streams: CallStreams,
    /// `true` if an earlier attempt may have published the call.
    may_be_published: bool,
    ends_at: Instant,
}

impl<'c> RemoteCall<'c> {
    fn new(
        broker: Broker,
        target: &'c RemoteTarget,
        ctx: &'c ToolContext,
        arguments: Map<String, Value>,
    ) -> Result<Self, Lost> {
        let (id, message) = message_of(ctx, target, arguments);
        let ends_at = Instant::now() + Duration::from_secs(target.timeout_seconds);
        let streams = CallStreams::for_call(&id).map_err(|error| Lost::NotPublished(error.to_string()))?;
        let may_be_published = ctx.info().attempt > 1;
        Ok(Self { broker, target, ctx, message, id, streams, may_be_published, ends_at })
    }

    async fn outcome(mut self) -> Result<(ToolOutput, SideData), ToolError> {
        match self.result().await {
            Ok(result) => answer::of_result(self.target, result),
            Err(lost) => {
                self.give_up(&lost).await;
                Err(lost.failure(self.ctx, self.target))
            }
        }
    }

    async fn result(&mut self) -> Result<ToolResultMessage, Lost> {
        loop {
            self.publish().await?;
            if let Some(result) = self.read().await? {
                return Ok(result);
            }
            // The stream is gone.
            if self.target.once || self.is_over() {
                return Err(self.not_in_time());
            }
        }
    }

    /// Publishes the call, unless it is published.
    async fn publish(&mut self) -> Result<(), Lost> {
        if !self.may_be_published {
            self.check_provider().await?;
        }
        loop {
            if self.target.once && self.may_be_published {
                return if self.exists(self.streams.results()).await? { self.join().await } else { Err(Lost::Unknown) };
            }
            let error = match self.try_to_publish().await? {
                Ok(Appended::Appended | Appended::Missing) => {
                    self.may_be_published = true;
                    return Ok(());
                }
                Ok(Appended::Exists) => {
                    self.may_be_published = true;
                    return self.join().await;
                }
                Err(error @ StreamError::Name { .. }) => return Err(Lost::NotPublished(error.to_string())),
                Err(error) => error,
            };
            self.may_be_published |= error.is_ambiguous();
            if self.is_over() {
                return Err(if self.may_be_published {
                    self.not_in_time()
                } else {
                    Lost::NotPublished(error.to_string())
                });
            }
            self.pause().await?;
        }
    }

    /// Publishes the call, with the time at which its caller will give up.
    async fn try_to_publish(&self) -> Result<Result<Appended, StreamError>, Lost> {
        let now = match self.unless_cancelled(self.broker.streams.now()).await? {
            Ok(now) => now,
            Err(error) => return Ok(Err(error.without_effect())),
        };
        let left = self.ends_at.saturating_duration_since(Instant::now());
        let left_ms = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
        let call = CallMessage { expires_at: Some(now.saturating_add(left_ms)), ..self.message.clone() };
        let payload = serde_json::to_vec(&ToolCallMessage::Call(Box::new(call)))
            .map_err(|error| Lost::NotPublished(error.to_string()))?;
        let append = self.streams.publish(&self.target.toolset, payload, self.retention(), Some(left));
        self.unless_cancelled(self.broker.streams.append(append)).await
    }

    /// Fails if the toolset has no provider at work. If the broker cannot be asked, publishing fails
    /// instead.
    async fn check_provider(&self) -> Result<(), Lost> {
        let looking = self.broker.at_work.has_provider(&*self.broker.streams, &self.target.toolset);
        match self.unless_cancelled(looking).await? {
            Ok(false) => Err(Lost::NoProvider),
            Ok(true) | Err(_) => Ok(()),
        }
    }

    /// Joins a call that an earlier attempt has published. One that was given up since has no later
    /// result than the one that is there.
    async fn join(&mut self) -> Result<(), Lost> {
        if self.exists(self.streams.given_up()).await? {
            self.ends_at = Instant::now();
        }
        Ok(())
    }

    /// Marks that nobody waits for the result, so that no provider begins the call.
    async fn give_up(&self, lost: &Lost) {
        let (reason, within) = match lost {
            Lost::Unknown | Lost::TimedOut => (GivenUp::Expired, MAX_GIVE_UP_TIME),
            // A worker that stops also cancels its calls; the next attempt joins the call.
            Lost::Cancelled if self.ctx.is_cancelled_for_good().await => {
                (GivenUp::Cancelled, MAX_GIVE_UP_TIME_CANCELLED)
            }
            _ => return,
        };
        let marked = async {
            let mark = || self.streams.give_up(reason, self.retention());
            while let Err(error) = self.broker.streams.append(mark()).await {
                tracing::debug!(stream = self.streams.given_up(), %error, "a call could not be given up");
                sleep(PAUSE).await;
            }
        };
        if timeout(within, marked).await.is_err() {
            tracing::warn!(call = self.id, "a call could not be given up; no provider begins it after its deadline");
        }
    }

    /// Reads the result stream until the result; `None` if the stream is gone.
    async fn read(&self) -> Result<Option<ToolResultMessage>, Lost> {
        let (mut after, mut deltas): (Option<EntryId>, usize) = (None, 0);
        loop {
            let wait = ONE_WAIT.min(self.ends_at.saturating_duration_since(Instant::now()));
            let reading = self.broker.streams.read(self.streams.results(), after, MOST_ENTRIES, wait);
            match self.unless_cancelled(reading).await? {
                Ok(entries) if entries.is_empty() => {
                    if !self.exists(self.streams.results()).await? {
                        return Ok(None);
                    }
                    if self.is_over() {
                        return Err(self.not_in_time());
                    }
                }
                Ok(entries) => {
                    for entry in &entries {
                        if let Some(result) = self.entry(entry, &mut deltas)? {
                            return Ok(Some(result));
                        }
                    }
                    after = entries.into_iter().last().map(|entry| entry.id);
                }
                Err(_) if self.is_over() => return Err(self.not_in_time()),
                Err(error) => {
                    tracing::debug!(stream = self.streams.results(), %error, "a result stream could not be read");
                    self.pause().await?;
                }
            }
        }
    }

    /// Passes a delta on, and returns a result. Entries that are neither are skipped.
    fn entry(&self, entry: &Entry, deltas: &mut usize) -> Result<Option<ToolResultMessage>, Lost> {
        let bytes = entry.payload.len();
        match &*entry.event {
            RESULT_EVENT if bytes > MAX_RESULT_BYTES => Err(Lost::TooLarge(bytes)),
            RESULT_EVENT => Ok(self.read_result(entry)),
            OUTPUT_DELTA_EVENT if bytes <= MAX_RESULT_BYTES => {
                self.pass_on(entry, deltas);
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    fn read_result(&self, entry: &Entry) -> Option<ToolResultMessage> {
        match serde_json::from_slice::<ToolResultMessage>(&entry.payload) {
            Ok(result) if result.tool_use_id == self.id => Some(result),
            Ok(_) => None,
            Err(error) => {
                tracing::warn!(stream = self.streams.results(), %error, "a result cannot be read: skipped");
                None
            }
        }
    }

    fn pass_on(&self, entry: &Entry, deltas: &mut usize) {
        match serde_json::from_slice::<ToolOutputDeltaMessage>(&entry.payload) {
            Ok(delta) if delta.tool_use_id == self.id && *deltas < MOST_DELTAS => {
                *deltas += 1;
                self.ctx.output_delta(&delta.stream, delta.delta);
            }
            _ => {}
        }
    }

    /// Returns `true` if a stream exists.
    async fn exists(&self, stream: &str) -> Result<bool, Lost> {
        loop {
            match self.unless_cancelled(self.broker.streams.exists(stream)).await? {
                Ok(exists) => return Ok(exists),
                Err(_) if self.is_over() => return Err(self.not_in_time()),
                Err(_) => self.pause().await?,
            }
        }
    }

    fn retention(&self) -> Duration {
        let wait = Duration::from_secs(self.target.timeout_seconds);
        SHORTEST_RETENTION.max(wait.saturating_add(RETAINED_BEYOND_THE_WAIT))
    }

    fn is_over(&self) -> bool {
        Instant::now() >= self.ends_at
    }

    fn not_in_time(&self) -> Lost {
        Lost::not_in_time(self.target)
    }

    async fn pause(&self) -> Result<(), Lost> {
        self.unless_cancelled(sleep(PAUSE)).await
    }

    async fn unless_cancelled<T>(&self, future: impl Future<Output = T>) -> Result<T, Lost> {
        unless_cancelled(self.ctx, future).await
    }
}
