//! Publishes items to the stream of a workflow, from activities and any other process.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::FutureExt;
use serde::Serialize;
use temporalio_client::{Client, NamespacedClient, WorkflowSignalOptions};
use temporalio_common::{SignalDefinition, UntypedWorkflow};
use temporalio_sdk::activities::ActivityContext;
use tokio::sync::{
    mpsc::{UnboundedSender, unbounded_channel},
    oneshot,
};
use uuid::Uuid;

use super::{
    WorkflowStreamError,
    batches::{BatchOptions, Batches, Command, LONGEST_RETRY_DURATION, SendBatch, size},
};
use crate::workflow::stream::messages::{
    MOST_ITEM_BYTES, PublishEntry, PublishInput, STREAM_PUBLISH, encode_payload, json_payload,
};

/// Number of hexadecimal digits of a publisher's id.
const ID_DIGITS: usize = 16;
/// Maximum bytes of the items that wait to be sent.
const MAX_WAITING_BYTES: usize = 16 * 1024 * 1024;

/// Publishes items to the stream of a workflow, in batches: of a workflow with `#[agent_handlers]`,
/// or of one in another language that hosts a stream of an official SDK.
///
/// ```no_run
/// use serde_json::json;
/// use temporal_agents::client::WorkflowStreamPublisher;
/// # async fn publish(
/// #     client: &temporalio_client::Client,
/// # ) -> Result<(), Box<dyn std::error::Error>> {
///
/// let stream = WorkflowStreamPublisher::new(client, "shipment-7");
/// for step in 1..=3 {
///     stream.publish("progress", &json!({"step": step}))?;
/// }
/// stream.close().await?; // sends what is left
/// # Ok(())
/// # }
/// ```
///
/// Items are sent in their order, as one signal for each batch, one at a time. A batch that may
/// have arrived is sent again under the same number, and counts once. Without
/// [`close`](Self::close) the items that are left are sent in the background, and a failure is
/// lost.
///
/// Items that are not sent yet are kept in memory, at most 16 MiB.
///
/// # Retries
/// A batch is sent again after transient failures, for at most 10 minutes
/// ([`max_retry_duration`](Self::max_retry_duration)). After another failure, for example because
/// the workflow does not exist or has ended, it is dropped at once.
///
/// An activity that is retried publishes again, as another publisher: the stream then has the items
/// of both attempts. Let the items name the attempt if readers must tell them apart.
pub struct WorkflowStreamPublisher {
    client: Client,
    workflow_id: String,
    options: BatchOptions,
    /// The task that sends the batches, once there is an item.
    batches: OnceLock<UnboundedSender<Command>>,
    waiting_bytes: Arc<AtomicUsize>,
}

impl WorkflowStreamPublisher {
    /// Creates a publisher for the latest execution of the workflow with this id; sends nothing
    /// yet.
    pub fn new(client: &Client, workflow_id: impl Into<String>) -> Self {
        Self {
            client: client.clone(),
            workflow_id: workflow_id.into(),
            options: BatchOptions::default(),
            batches: OnceLock::new(),
            waiting_bytes: Arc::default(),
        }
    }

    /// Creates a publisher for the workflow that has scheduled this activity; `None` if no workflow
    /// has.
    pub fn of_activity(activity: &ActivityContext) -> Option<Self> {
        let workflow_id = activity.info().workflow_id.clone()?;
        Some(Self::new(&activity.client(), workflow_id))
    }

    /// Sets the topics of the deltas of a turn: the stream drops their items with later turns.
    pub(crate) fn turn_topics(mut self, topics: Vec<String>) -> Self {
        self.options.turn_topics = topics;
        self
    }

    /// Returns the id of the workflow.
    pub(crate) fn workflow_id(&self) -> &str {
        &self.workflow_id
    }

    /// Sets the time that an item waits for others. Default: 200 ms. Each batch is an event of the
    /// workflow's history, and one billable action.
    #[must_use]
    pub fn batch_interval(mut self, interval: Duration) -> Self {
        self.options.interval = interval;
        self
    }

    /// Sets the number of items after which a batch is sent at once. Default: no limit. A batch is
    /// never larger than 1 MB, or one item.
    #[must_use]
    pub fn max_batch_items(mut self, items: usize) -> Self {
        self.options.max_items = items.max(1);
        self
    }

    /// Sets how long a batch is retried. Default, and at most: 10 minutes, because a workflow
    /// forgets the numbers of a publisher's batches after 15. Then the batch is dropped, and the
    /// next [`flush`](Self::flush) or [`close`](Self::close) fails.
    #[must_use]
    pub fn max_retry_duration(mut self, duration: Duration) -> Self {
        self.options.max_retry_duration = duration.min(LONGEST_RETRY_DURATION);
        self
    }

    /// Publishes a value as JSON with the next batch.
    ///
    /// # Errors
    /// [`WorkflowStreamError::Json`] if the value cannot be written as JSON,
    /// [`TooLarge`](WorkflowStreamError::TooLarge) if its base64 and its topic together exceed 1.5
    /// MB, [`Full`](WorkflowStreamError::Full) if more than 16 MiB would wait to be sent. Failures
    /// of sending are reported by [`flush`](Self::flush) and [`close`](Self::close).
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn publish(
        &self,
        topic: impl Into<String>,
        value: &(impl Serialize + ?Sized),
    ) -> Result<(), WorkflowStreamError> {
        let entry = self.entry(topic.into(), value)?;
        self.send(Command::Publish { entry, is_urgent: false });
        Ok(())
    }

    /// Publishes a value as JSON, and sends the batch at once, without waiting for it: for an item
    /// that readers wait for. Otherwise like [`publish`](Self::publish).
    ///
    /// # Errors
    /// Those of [`publish`](Self::publish).
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn publish_now(
        &self,
        topic: impl Into<String>,
        value: &(impl Serialize + ?Sized),
    ) -> Result<(), WorkflowStreamError> {
        let entry = self.entry(topic.into(), value)?;
        self.send(Command::Publish { entry, is_urgent: true });
        Ok(())
    }

    /// Waits until everything that was published before is sent.
    ///
    /// # Errors
    /// [`WorkflowStreamError::NotPublished`] if items were dropped since the previous flush.
    pub async fn flush(&self) -> Result<(), WorkflowStreamError> {
        let Some(batches) = self.batches.get() else { return Ok(()) };
        let (answer, sent) = oneshot::channel();
        let _ = batches.send(Command::Flush(answer));
        sent.await.unwrap_or(Ok(()))
    }

    /// Sends what is left, and ends the publisher.
    ///
    /// # Errors
    /// [`WorkflowStreamError::NotPublished`] if items were dropped since the previous flush.
    pub async fn close(self) -> Result<(), WorkflowStreamError> {
        self.flush().await
    }

    /// Returns the item, and counts it among those that wait.
    fn entry(&self, topic: String, value: &(impl Serialize + ?Sized)) -> Result<PublishEntry, WorkflowStreamError> {
        let data = match json_payload(value) {
            Ok(payload) => encode_payload(&payload),
            Err(source) => return Err(WorkflowStreamError::Json { topic, source }),
        };
        let entry = PublishEntry { topic, data };
        let bytes = size(&entry);
        if bytes > MOST_ITEM_BYTES {
            return Err(WorkflowStreamError::TooLarge { topic: entry.topic, bytes });
        }
        let waiting = self.waiting_bytes.fetch_add(bytes, Ordering::Relaxed);
        if waiting + bytes > MAX_WAITING_BYTES {
            self.waiting_bytes.fetch_sub(bytes, Ordering::Relaxed);
            return Err(WorkflowStreamError::Full { topic: entry.topic, bytes: waiting });
        }
        Ok(entry)
    }

    /// Sends a command to the task, which begins with the first one.
    fn send(&self, command: Command) {
        let batches = self.batches.get_or_init(|| {
            let (batches, commands) = unbounded_channel();
            let id: String = Uuid::new_v4().simple().to_string().chars().take(ID_DIGITS).collect();
            let waiting_bytes = Arc::clone(&self.waiting_bytes);
            tokio::spawn(Batches::new(id, self.options.clone(), self.send_batch(), waiting_bytes).run(commands));
            batches
        });
        // Only a runtime that shuts down ends the task before its channel is closed.
        let _ = batches.send(command);
    }

    fn send_batch(&self) -> SendBatch {
        let workflow = Arc::new(self.client.get_workflow_handle::<UntypedWorkflow>(&*self.workflow_id));
        Box::new(move |input| {
            let workflow = Arc::clone(&workflow);
            async move { workflow.signal(Publish, input, WorkflowSignalOptions::default()).await }.boxed()
        })
    }
}

impl std::fmt::Debug for WorkflowStreamPublisher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WorkflowStreamPublisher")
            .field("namespace", &self.client.namespace())
            .field("workflow_id", &self.workflow_id)
            .finish_non_exhaustive()
    }
}

/// Client-side definition of the signal.
struct Publish;

impl SignalDefinition for Publish {
    type Workflow = UntypedWorkflow;
    type Input = PublishInput;

    fn name(&self) -> &str {
        STREAM_PUBLISH
    }
}
