//! The batches of a publisher: collects items, sends one batch at a time, retries it.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::future::BoxFuture;
use temporalio_client::errors::WorkflowInteractionError;
use tokio::{
    sync::{mpsc::UnboundedReceiver, oneshot},
    time::{Instant, sleep, timeout_at},
};

use super::{WorkflowStreamError, is_transient};
use crate::workflow::stream::messages::{PublishEntry, PublishInput};

/// Maximum bytes of the items of a batch, unless it has one item: the server refuses a signal of
/// 2 MB.
const MOST_BYTES: usize = 1_000_000;
/// The longest time for which a batch is retried: a workflow forgets the numbers of a publisher's
/// batches after 15 minutes.
pub(super) const LONGEST_RETRY_DURATION: Duration = Duration::from_mins(10);
/// The pauses before a batch is sent again. Each is twice the pause before it.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Sends a batch.
pub(super) type SendBatch =
    Box<dyn Fn(PublishInput) -> BoxFuture<'static, Result<(), WorkflowInteractionError>> + Send + Sync>;

/// The limits of a batch (its interval, its size, the time for which it is retried), and the topics
/// that it declares.
#[derive(Clone, Debug)]
pub(super) struct BatchOptions {
    pub(super) interval: Duration,
    pub(super) max_items: usize,
    pub(super) max_retry_duration: Duration,
    /// Topics of the deltas of a turn.
    pub(super) turn_topics: Vec<String>,
}

impl Default for BatchOptions {
    fn default() -> Self {
        Self {
            interval: Duration::from_millis(200),
            max_items: usize::MAX,
            max_retry_duration: LONGEST_RETRY_DURATION,
            turn_topics: Vec::new(),
        }
    }
}

/// A request of the publisher.
pub(super) enum Command {
    Publish {
        entry: PublishEntry,
        /// `true` if the batch with it is sent at once.
        is_urgent: bool,
    },
    /// Sends everything, and answers with the failure since the previous flush.
    Flush(oneshot::Sender<Result<(), WorkflowStreamError>>),
}

/// The items that are not sent yet.
pub(super) struct Batches {
    publisher_id: String,
    /// Number of the latest batch.
    sequence: u64,
    buffer: VecDeque<PublishEntry>,
    options: BatchOptions,
    send: SendBatch,
    /// Bytes of the items that the publisher has not sent yet.
    waiting_bytes: Arc<AtomicUsize>,
    /// Number of items that were dropped, and the latest failure.
    dropped: Option<(usize, WorkflowInteractionError)>,
}

impl Batches {
    pub(super) fn new(
        publisher_id: String,
        options: BatchOptions,
        send: SendBatch,
        waiting_bytes: Arc<AtomicUsize>,
    ) -> Self {
        Self { publisher_id, sequence: 0, buffer: VecDeque::new(), options, send, waiting_bytes, dropped: None }
    }

    /// Serves the publisher until it is dropped, then sends what is left.
    pub(super) async fn run(mut self, mut commands: UnboundedReceiver<Command>) {
        // The time at which the oldest item of the buffer is sent.
        let mut due: Option<Instant> = None;
        loop {
            let received = match due {
                None => Ok(commands.recv().await),
                Some(at) => timeout_at(at, commands.recv()).await,
            };
            match received {
                Err(_) => self.send_all().await,
                Ok(Some(Command::Publish { entry, is_urgent })) => {
                    self.buffer.push_back(entry);
                    due.get_or_insert(Instant::now() + self.options.interval);
                    if !is_urgent && self.buffer.len() < self.options.max_items {
                        continue;
                    }
                    self.send_all().await;
                }
                Ok(Some(Command::Flush(answer))) => {
                    self.send_all().await;
                    let dropped = self.dropped.take();
                    let failed = dropped.map(|(items, source)| WorkflowStreamError::NotPublished { items, source });
                    let _ = answer.send(failed.map_or(Ok(()), Err));
                }
                Ok(None) => {
                    self.send_all().await;
                    return;
                }
            }
            due = None;
        }
    }

    async fn send_all(&mut self) {
        while !self.buffer.is_empty() {
            let batch = self.next_batch();
            let items = batch.len();
            let bytes: usize = batch.iter().map(size).sum();
            // Counted also if the batch is dropped: it may have arrived.
            self.sequence += 1;
            if let Err(error) = self.send(batch).await {
                let before = self.dropped.take().map_or(0, |(items, _)| items);
                self.dropped = Some((before + items, error));
            }
            self.waiting_bytes.fetch_sub(bytes, Ordering::Relaxed);
        }
    }

    fn next_batch(&mut self) -> Vec<PublishEntry> {
        let mut bytes = 0;
        let fits = |entry: &&PublishEntry| {
            bytes += size(entry);
            bytes <= MOST_BYTES
        };
        let count = self.buffer.iter().take(self.options.max_items).take_while(fits).count().max(1);
        self.buffer.drain(..count).collect()
    }

    /// Sends a batch until it has arrived, or cannot.
    async fn send(&self, batch: Vec<PublishEntry>) -> Result<(), WorkflowInteractionError> {
        let items = serde_json::to_value(batch).map_err(|error| WorkflowInteractionError::Other(error.into()))?;
        let items = match items {
            serde_json::Value::Array(items) => items,
            _ => Vec::new(),
        };
        let input = PublishInput {
            items,
            publisher_id: self.publisher_id.clone(),
            sequence: self.sequence,
            turn_topics: self.options.turn_topics.clone(),
        };
        let begun = Instant::now();
        let mut pause = FIRST_PAUSE;
        loop {
            match (self.send)(input.clone()).await {
                Err(WorkflowInteractionError::Rpc(status))
                    if is_transient(&status) && begun.elapsed() + pause <= self.options.max_retry_duration => {}
                result => return result,
            }
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

/// Returns the size of an item in bytes.
pub(super) fn size(entry: &PublishEntry) -> usize {
    entry.topic.len() + entry.data.len()
}

#[cfg(test)]
mod tests;
