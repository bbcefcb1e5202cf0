//! Batches of deltas in a stream that keeps the latest ones, and expires.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use futures::{Stream, stream::unfold};
use tokio::time::{Instant, sleep, timeout_at};

use super::transport::{Append, Entry, EntryId, StreamError, Streams};

/// The minimum time between two batches.
pub(crate) const BATCH_INTERVAL: Duration = Duration::from_millis(50);
/// The time after the latest batch after which a stream expires.
const KEPT: Duration = Duration::from_mins(5);
/// How long a failed batch is sent again.
const TIME_LIMIT: Duration = Duration::from_secs(5);
/// The maximum size of the batches that a stream keeps, in bytes.
const MAX_STREAM_BYTES: usize = 1_000_000;
/// The pause before a failed request is repeated.
const PAUSE: Duration = Duration::from_millis(250);
/// How long one request of a reader waits.
const WAIT: Duration = Duration::from_secs(20);
/// The maximum number of batches that a reader requests at once.
const MAX_ENTRIES: usize = 64;
/// Name of the entries.
const BATCH: &str = "deltas";

/// The only writer of a stream of batches.
pub(crate) struct BatchWriter {
    streams: Arc<dyn Streams>,
    /// The sizes of the writer's batches that the stream keeps.
    sizes: VecDeque<usize>,
}

impl BatchWriter {
    /// Creates a writer. Its first batch replaces what writers before it have left.
    pub(crate) fn new(streams: Arc<dyn Streams>) -> Self {
        Self { streams, sizes: VecDeque::new() }
    }

    /// Appends a batch, and retries for 5 s. A batch may be appended twice: number its deltas.
    ///
    /// # Errors
    /// The reason why the batch is lost.
    pub(crate) async fn append(&mut self, stream: &str, batch: Vec<u8>) -> Result<(), String> {
        self.sizes.push_back(batch.len());
        // At least the latest batch is kept, for the readers that wait for it.
        while self.sizes.len() > 1 && self.sizes.iter().sum::<usize>() > MAX_STREAM_BYTES {
            self.sizes.pop_front();
        }
        let append = Append::new().entry(stream, BATCH, batch).max_len(stream, self.sizes.len()).expire(stream, KEPT);
        let deadline = Instant::now() + TIME_LIMIT;
        loop {
            let error = match timeout_at(deadline, self.streams.append(append.clone())).await {
                Ok(Ok(_)) => return Ok(()),
                Ok(Err(error)) => error,
                Err(_) => return Err("no answer in time".to_owned()),
            };
            if matches!(error, StreamError::Name { .. }) || Instant::now() + PAUSE >= deadline {
                return Err(error.to_string());
            }
            sleep(PAUSE).await;
        }
    }
}

/// Reads the batches of a stream, starting with the oldest one. The stream never ends. While the broker is
/// unavailable it yields errors, with a pause after each.
pub(crate) fn read_batches(
    streams: Arc<dyn Streams>,
    stream: String,
) -> impl Stream<Item = Result<Vec<Entry>, StreamError>> + Send {
    let start = (streams, stream, None::<EntryId>, false);
    unfold(start, |(streams, stream, after, has_failed)| async move {
        if has_failed {
            sleep(PAUSE).await;
        }
        let read = streams.read(&stream, after, MAX_ENTRIES, WAIT).await;
        let latest = read.as_ref().ok().and_then(|entries| entries.last()).map(|entry| entry.id);
        let has_failed = read.is_err();
        Some((read, (streams, stream, latest.or(after), has_failed)))
    })
}
