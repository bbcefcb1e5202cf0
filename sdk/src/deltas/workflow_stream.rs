//! The transport by the stream of the workflow: signals in its history, for subscribers in any
//! language.

use std::time::Duration;

use futures::{FutureExt, future::BoxFuture};
use temporal_agents_core::{drive::guard::guarded, wire::size::encoded_len};

use super::transport::{DeltaBatch, DeltaChannel, DeltaSource, DeltaTransport};
use crate::{
    client::{WorkflowStreamError, WorkflowStreamPublisher},
    workflow::stream::messages::RUN_EVENTS_TOPIC,
};

/// How long a failed batch is sent again.
const MAX_RETRY_DURATION: Duration = Duration::from_secs(5);
/// The part of the workflow's history that one attempt may take: the server ends a workflow whose
/// history is larger than 50 MB or 51,200 events, and refuses signals after 10,000.
const MAX_BATCHES: u32 = 1_000;
const MAX_BYTES: usize = 4_000_000;
/// Number of batches after which an attempt sends them less often, and the pause between them then.
const BATCHES_WITHOUT_PAUSE: u32 = 600;
const LATER_PAUSE: Duration = Duration::from_secs(1);

/// A transport by the stream of the workflow: it publishes each delta as an item. Subscribers of
/// Temporal's Workflow Streams in any language read it, and
/// [`RunEvents::watch_live`](crate::client::RunEvents::watch_live), which reads the same items from
/// history.
///
/// An item is a [`RunEvent`](temporal_agents_core::wire::RunEvent) as JSON, on topic `run_events`. A model call
/// begins with an `attempt_delta`, and each later delta names its attempt: a subscriber that sees
/// the beginning of an attempt discards the text of earlier ones.
///
/// The workflow needs `#[agent_handlers]`, or is a ready-made one: another one does not receive the
/// signals. When the answer of a turn is in history, the stream drops the items of earlier turns.
///
/// Costs up to ten signals a second while an activity streams. Each is an action in Temporal Cloud,
/// and four events of history with the workflow task that it causes. A poll of a subscriber is
/// another action and two events. After 600 batches an attempt sends one a second, and after 1,000
/// batches or 4 MB no more: its answer follows whole. A local activity sends none.
///
/// After transient failures a batch is sent again for at most 5 s; then it is lost, and the attempt
/// publishes no more. A call that has succeeded waits at most 1 s for its last batch.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WorkflowStreamDeltas {
    topic: String,
    openai_topic: Option<String>,
}

impl WorkflowStreamDeltas {
    /// Creates the transport.
    pub fn new() -> Self {
        Self { topic: RUN_EVENTS_TOPIC.to_owned(), openai_topic: None }
    }

    /// Sets the topic of the deltas. Default `run_events`. The stream drops the items of earlier
    /// turns, so use a topic that nothing else is published on.
    #[must_use]
    pub fn topic(mut self, topic: impl Into<String>) -> Self {
        self.topic = topic.into();
        self
    }

    /// Also publishes the events of OpenAI's Responses API on this topic, as the API sends them:
    /// for subscribers that were written for the OpenAI Agents plugin of Temporal's Python SDK.
    /// Calls of other APIs have none. Neither have calls of an agent with output guardrails, and
    /// calls that received values of worker variables. Default: none.
    #[must_use]
    pub fn openai_topic(mut self, topic: impl Into<String>) -> Self {
        self.openai_topic = Some(topic.into());
        self
    }

    fn publish(&self, publisher: &WorkflowStreamPublisher, batch: &DeltaBatch) -> Result<(), WorkflowStreamError> {
        for event in &batch.events {
            publisher.publish(&*self.topic, event)?;
        }
        if let Some(topic) = &self.openai_topic {
            for event in &batch.native {
                publisher.publish(topic, event)?;
            }
        }
        Ok(())
    }
}

impl Default for WorkflowStreamDeltas {
    fn default() -> Self {
        Self::new()
    }
}

impl DeltaTransport for WorkflowStreamDeltas {
    fn open(&self, source: &DeltaSource) -> Box<dyn DeltaChannel> {
        let activity = source.activity();
        // The task of a local activity's workflow is open: the server would hold the signals back
        // until it ends, and fail a task with too many of them.
        let publisher = if activity.info().is_local {
            None
        } else {
            // The context of a test has no client, and panics.
            guarded(|| WorkflowStreamPublisher::of_activity(activity)).ok().flatten()
        };
        let topics = [Some(self.topic.clone()), self.openai_topic.clone()].into_iter().flatten().collect();
        let publisher = publisher.map(|publisher| publisher.max_retry_duration(MAX_RETRY_DURATION).turn_topics(topics));
        Box::new(Channel { publisher, topics: self.clone(), published: Published::default() })
    }

    fn waits_for_last_batch(&self) -> bool {
        true
    }

    fn wants_native(&self) -> bool {
        self.openai_topic.is_some()
    }
}

struct Channel {
    publisher: Option<WorkflowStreamPublisher>,
    topics: WorkflowStreamDeltas,
    published: Published,
}

/// The part of the workflow's history that an attempt has taken.
#[derive(Default)]
struct Published {
    batches: u32,
    bytes: usize,
}

impl Published {
    /// Counts a batch; returns `false` if the attempt has taken its part already.
    fn admits(&mut self, batch: &DeltaBatch) -> bool {
        self.batches += 1;
        self.bytes += encoded_len(&batch.events).unwrap_or_default() + encoded_len(&batch.native).unwrap_or_default();
        self.batches <= MAX_BATCHES && self.bytes <= MAX_BYTES
    }

    /// Returns the pause before the next batch, beside the interval.
    fn pause(&self) -> Duration {
        if self.batches < BATCHES_WITHOUT_PAUSE { Duration::ZERO } else { LATER_PAUSE }
    }
}

impl DeltaChannel for Channel {
    fn send(&mut self, batch: DeltaBatch) -> BoxFuture<'_, bool> {
        async move {
            let Some(publisher) = &self.publisher else { return false };
            if !self.published.admits(&batch) {
                tracing::warn!(
                    workflow = publisher.workflow_id(),
                    "the deltas of one attempt have taken {MAX_BYTES} bytes or {MAX_BATCHES} batches of the \
                     workflow's history: the rest is not published; use HeartbeatDeltas for long answers"
                );
                return false;
            }
            tokio::time::sleep(self.published.pause()).await;
            let sent = match self.topics.publish(publisher, &batch) {
                Ok(()) => publisher.flush().await,
                failed => failed,
            };
            if let Err(error) = &sent {
                tracing::warn!(%error, "the rest of the attempt is not published to the stream of the workflow");
            }
            sent.is_ok()
        }
        .boxed()
    }
}
