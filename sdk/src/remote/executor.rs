//! One call of a remote tool, from the caller's side: the call is published once, and its result is
//! awaited.
//!
//! # Design
//! **A call has one id for ever**, its idempotency key, which names its result stream. The first
//! entry of that stream (`init`) and the call itself are published in one transaction, and only if
//! the stream does not exist. So an attempt that finds the stream knows that the call is published,
//! and only reads, from the oldest entry on: the result may be there already.
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
use tokio::time::{Instant, sleep};

use super::{
    answer,
    message::{
        OUTPUT_DELTA_EVENT, RESULT_EVENT, ToolCallMessage, ToolOutputDeltaMessage, ToolResultMessage, result_stream,
    },
    one_call::{Lost, MOST_DELTAS, message_of, output_of, unless_cancelled},
    publish,
    transport::{Appended, Entry, EntryId, StreamError, Streams},
};
use crate::{
    tool::{ActivityBody, ToolContext, ToolError},
    wire::{SideData, ToolOutput, remote_call::RemoteTarget},
};

/// Longest time that one request to the transport waits for entries.
const ONE_WAIT: Duration = Duration::from_secs(2);

/// Pause before a request to a transport that was unavailable is repeated.
const PAUSE: Duration = Duration::from_millis(500);

/// Time for which a result stream exists at least.
const SHORTEST_RETENTION: Duration = Duration::from_mins(15);

/// Time for which a result stream exists beyond the wait.
const RETAINED_BEYOND_THE_WAIT: Duration = Duration::from_mins(5);

/// Most entries that one request returns.
const MOST_ENTRIES: usize = 100;

/// Returns the body of the activity of a call.
pub(crate) fn body(streams: &Arc<dyn Streams>, target: RemoteTarget) -> ActivityBody {
    let streams = Arc::clone(streams);
    Arc::new(move |ctx: &mut ToolContext, arguments| {
        let (streams, target) = (Arc::clone(&streams), target.clone());
        async move {
            let outcome = RemoteCall::new(streams, target, ctx, arguments).outcome().await?;
            Ok(output_of(ctx, outcome))
        }
        .boxed()
    })
}

/// A call, at one attempt.
struct RemoteCall<'c> {
    streams: Arc<dyn Streams>,
    target: RemoteTarget,
    ctx: &'c ToolContext,
    message: ToolCallMessage,
    /// Id of the call, at all attempts.
    id: String,
    results: String,
    /// `true` if an earlier attempt may have published the call.
    may_be_published: bool,
    ends_at: Instant,
}

impl<'c> RemoteCall<'c> {
    fn new(
        streams: Arc<dyn Streams>,
        target: RemoteTarget,
        ctx: &'c ToolContext,
        arguments: Map<String, Value>,
    ) -> Self {
        let (id, message) = message_of(ctx, &target, arguments);
        let ends_at = Instant::now() + Duration::from_secs(target.timeout_seconds);
        let (results, may_be_published) = (result_stream(&id), ctx.info().attempt > 1);
        Self { streams, target, ctx, message, id, results, may_be_published, ends_at }
    }

    async fn outcome(mut self) -> Result<(ToolOutput, SideData), ToolError> {
        match self.result().await {
            Ok(result) => answer::of_result(&self.target, result),
            Err(lost) => Err(lost.failure(self.ctx, &self.target)),
        }
    }

    async fn result(&mut self) -> Result<ToolResultMessage, Lost> {
        loop {
            self.publish().await?;
            if let Some(result) = self.read().await? {
                return Ok(result);
            }
            // The stream is gone.
            if self.target.once {
                return Err(Lost::Unknown);
            }
        }
    }

    /// Publishes the call, unless it is published.
    async fn publish(&mut self) -> Result<(), Lost> {
        let payload = serde_json::to_vec(&self.message).map_err(|error| Lost::NotPublished(error.to_string()))?;
        loop {
            if self.target.once && self.may_be_published {
                return if self.exists().await? { Ok(()) } else { Err(Lost::Unknown) };
            }
            let append = publish::call(&self.target.toolset, &self.id, payload.clone(), self.retention());
            let streams = Arc::clone(&self.streams);
            match self.unless_cancelled(streams.append(append)).await? {
                Ok(Appended::Appended | Appended::Exists) => {
                    self.may_be_published = true;
                    return Ok(());
                }
                Err(error @ StreamError::Name { .. }) => return Err(Lost::NotPublished(error.to_string())),
                Err(error) if error.is_ambiguous() => self.may_be_published = true,
                Err(error) if self.is_over() => {
                    return Err(if self.may_be_published {
                        self.not_in_time()
                    } else {
                        Lost::NotPublished(error.to_string())
                    });
                }
                Err(_) => {}
            }
            if self.is_over() {
                return Err(self.not_in_time());
            }
            self.pause().await?;
        }
    }

    /// Reads the result stream until the result; `None` if the stream is gone.
    async fn read(&self) -> Result<Option<ToolResultMessage>, Lost> {
        let (mut after, mut deltas): (Option<EntryId>, usize) = (None, 0);
        loop {
            let wait = ONE_WAIT.min(self.ends_at.saturating_duration_since(Instant::now()));
            let reading = self.streams.read(&self.results, after, MOST_ENTRIES, wait);
            match self.unless_cancelled(reading).await? {
                Ok(entries) if entries.is_empty() => {
                    if !self.exists().await? {
                        return Ok(None);
                    }
                    if self.is_over() {
                        return Err(self.not_in_time());
                    }
                }
                Ok(entries) => {
                    for entry in &entries {
                        if let Some(result) = self.entry(entry, &mut deltas) {
                            return Ok(Some(result));
                        }
                    }
                    after = entries.into_iter().last().map(|entry| entry.id);
                }
                Err(_) if self.is_over() => return Err(self.not_in_time()),
                Err(error) => {
                    tracing::debug!(stream = self.results, %error, "a result stream could not be read");
                    self.pause().await?;
                }
            }
        }
    }

    /// Passes a delta on, and returns a result. Entries that are neither are skipped.
    fn entry(&self, entry: &Entry, deltas: &mut usize) -> Option<ToolResultMessage> {
        match &*entry.event {
            RESULT_EVENT => match serde_json::from_slice::<ToolResultMessage>(&entry.payload) {
                Ok(result) if result.tool_use_id == self.id => Some(result),
                Ok(_) => None,
                Err(error) => {
                    tracing::warn!(stream = self.results, %error, "a result cannot be read: skipped");
                    None
                }
            },
            OUTPUT_DELTA_EVENT => {
                let delta = serde_json::from_slice::<ToolOutputDeltaMessage>(&entry.payload).ok()?;
                if delta.tool_use_id == self.id && *deltas < MOST_DELTAS {
                    *deltas += 1;
                    self.ctx.output_delta(&delta.stream, delta.delta);
                }
                None
            }
            _ => None,
        }
    }

    /// Returns `true` if the result stream exists.
    async fn exists(&self) -> Result<bool, Lost> {
        loop {
            match self.unless_cancelled(self.streams.exists(&self.results)).await? {
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
        Lost::not_in_time(&self.target)
    }

    async fn pause(&self) -> Result<(), Lost> {
        self.unless_cancelled(sleep(PAUSE)).await
    }

    async fn unless_cancelled<T>(&self, future: impl Future<Output = T>) -> Result<T, Lost> {
        unless_cancelled(self.ctx, future).await
    }
}
