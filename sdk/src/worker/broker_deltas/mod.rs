//! The transport of deltas over a broker that workers and readers share: Redis.
//!
//! # Design
//! **A call has a stream of its own,** which a reader reads from its beginning: a reader that
//! begins in the middle of a message receives all of it. The call is one of an execution of a
//! workflow: after a reset, the same call has another stream.
//!
//! **What a broker holds is bounded.** A stream keeps the latest entries of one attempt, about
//! [`MAX_STREAM_BYTES`] of them, and expires. If the beginning of an attempt was removed, a later
//! reader receives nothing of it; readers that were there receive the rest.
//!
//! **A broker that is unavailable costs a call nothing.** The task of the batches waits for it, not
//! the activity. After [`TIME_LIMIT`] the rest of the attempt is lost; the next one tries again.
//!
//! **The codec of the workers applies,** as to the heartbeats: an entry is a payload of the
//! client's data converter.

mod entry;

use std::{collections::VecDeque, fmt, sync::Arc, time::Duration};

use futures::{
    FutureExt, StreamExt,
    future::BoxFuture,
    stream::{BoxStream, unfold},
};
use temporalio_client::NamespacedClient;
use temporalio_common::data_converters::DataConverter;
use tokio::time::{Instant, sleep, timeout_at};

use self::entry::{decode_batch, encode_batch, stream_of};
use crate::{
    client::{DeltaCall, DeltaReader},
    deltas::{DeltaBatch, DeltaChannel, DeltaSource, DeltaTransport},
    drive::guard::guarded,
    events::{CallOfRun, delta_of},
    remote::transport::{Append, EntryId, StreamError, Streams},
    wire::{RunEvent, tool_batch::calls_in},
};

/// The time between two batches: a request costs no action and no event.
const INTERVAL: Duration = Duration::from_millis(50);
/// The time after the latest batch of a call after which its stream expires.
const KEPT: Duration = Duration::from_mins(5);
/// The maximum size of the entries of an attempt that a stream keeps, in bytes.
const MAX_STREAM_BYTES: usize = 1_000_000;
/// The longest time for which a batch is sent again.
const TIME_LIMIT: Duration = Duration::from_secs(5);
/// The pause before a failed request is repeated.
const PAUSE: Duration = Duration::from_millis(250);
/// The time for which one request of a reader waits.
const WAIT: Duration = Duration::from_secs(20);
/// The maximum number of entries that a reader requests at once.
const MAX_ENTRIES: usize = 64;
/// Name of the entries.
const BATCH: &str = "deltas";

/// A transport over a broker that workers and readers share: `RedisTransport` (feature `redis`), or
/// [`MemoryTransport`](crate::remote::transport::MemoryTransport) within a process.
///
/// It is the transport of workers, and for readers the place to look for deltas. Both need the same
/// broker, and clients with the same codec.
///
/// ```
/// use temporal_agents::{
///     AgentsPlugin, Resources,
///     client::RunEvents,
///     remote::transport::Streams,
///     worker::BrokerDeltas,
/// };
///
/// // `streams`: `RedisTransport::new("redis://127.0.0.1:6379")?`
/// fn plugin(resources: Resources, streams: impl Streams) -> AgentsPlugin {
///     AgentsPlugin::new(resources).deltas(BrokerDeltas::new(streams))
/// }
///
/// fn reader(client: &temporalio_client::Client, streams: impl Streams) -> RunEvents {
///     RunEvents::new(client).deltas(BrokerDeltas::new(streams))
/// }
/// ```
///
/// Costs no action of Temporal Cloud and no event in history: two requests to the broker for each
/// batch, 20 batches a second while an activity streams, and one connection for each open call that
/// a process reads. A reader that begins later receives the message from its beginning.
///
/// The broker holds about 1 MB of an attempt at most, for 5 minutes after its latest batch, encoded
/// by the codec of the workers. While it is unavailable, readers receive facts only, and no call
/// waits: a batch is sent again for 5 s, then the rest of the attempt is lost. A local activity
/// sends no deltas, and neither does an agentic session: it needs
/// [`HeartbeatDeltas`](crate::worker::HeartbeatDeltas).
#[derive(Clone)]
pub struct BrokerDeltas {
    streams: Arc<dyn Streams>,
}

impl BrokerDeltas {
    /// Creates a transport over these streams; sends nothing yet.
    pub fn new(streams: impl Streams) -> Self {
        Self { streams: Arc::new(streams) }
    }
}

impl DeltaTransport for BrokerDeltas {
    fn open(&self, source: &DeltaSource) -> Box<dyn DeltaChannel> {
        let activity = source.activity();
        let info = activity.info();
        // The context of a test has no client, and panics.
        let converter = guarded(|| activity.client().data_converter().clone()).unwrap_or_default();
        let execution = match (&info.workflow_id, &info.workflow_run_id) {
            // Readers look for the calls of runs that the server describes: it has none of local
            // activities.
            (Some(workflow_id), Some(run_id)) if !info.is_local && is_of_run(&info.activity_id) => {
                Some([info.namespace.clone(), workflow_id.clone(), run_id.clone()])
            }
            _ => None,
        };
        Box::new(Channel { streams: Arc::clone(&self.streams), converter, execution, sizes: VecDeque::new() })
    }

    fn interval(&self) -> Duration {
        INTERVAL
    }
}

/// Returns `true` for the activity of a call, or of several calls, of a run.
fn is_of_run(activity_id: &str) -> bool {
    CallOfRun::of(activity_id).is_some() || !calls_in(activity_id).is_empty()
}

/// The channel of one attempt.
struct Channel {
    streams: Arc<dyn Streams>,
    converter: DataConverter,
    /// Namespace, id and run id of the workflow; `None` if there are no readers.
    execution: Option<[String; 3]>,
    /// The sizes of the attempt's entries that its stream keeps.
    sizes: VecDeque<usize>,
}

impl DeltaChannel for Channel {
    fn send(&mut self, batch: DeltaBatch) -> BoxFuture<'_, bool> {
        async move {
            let Some((call, append)) = self.request(&batch.events).await else { return false };
            match appended(&*self.streams, &append).await {
                Ok(()) => true,
                Err(reason) => {
                    tracing::warn!(call, reason, "the broker takes no deltas: the rest of the attempt is not sent");
                    false
                }
            }
        }
        .boxed()
    }
}

impl Channel {
    /// Returns the call of a batch and the request that appends it.
    async fn request(&mut self, events: &[RunEvent]) -> Option<(String, Append)> {
        let [namespace, workflow_id, run_id] = self.execution.as_ref()?;
        let (call, ..) = delta_of(&events.first()?.id)?;
        let entry = encode_batch(&self.converter, events).await?;
        self.sizes.push_back(entry.len());
        // At least the latest entry is kept, for the readers that wait for it.
        while self.sizes.len() > 1 && self.sizes.iter().sum::<usize>() > MAX_STREAM_BYTES {
            self.sizes.pop_front();
        }
        let stream = stream_of([namespace, workflow_id, run_id, call]);
        // The first batch of an attempt removes the entries of the attempts before.
        let append = Append::new().entry(&*stream, BATCH, entry).max_len(&*stream, self.sizes.len());
        Some((call.to_owned(), append.expire(stream, KEPT)))
    }
}

/// Appends a batch; repeats a request that has failed. A batch that was appended twice is read
/// once, by the numbers of its deltas.
async fn appended(streams: &dyn Streams, append: &Append) -> Result<(), String> {
    let deadline = Instant::now() + TIME_LIMIT;
    loop {
        let error = match timeout_at(deadline, streams.append(append.clone())).await {
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

impl DeltaReader for BrokerDeltas {
    fn read(&self, call: DeltaCall) -> BoxStream<'static, Vec<RunEvent>> {
        let stream = stream_of([call.namespace(), call.workflow_id(), call.run_id(), call.id()]);
        let reader = Reader { streams: Arc::clone(&self.streams), stream, converter: call.converter, after: None };
        unfold(reader, |mut reader| async move { Some((reader.next().await, reader)) }).boxed()
    }
}

/// The reader of a call.
struct Reader {
    streams: Arc<dyn Streams>,
    stream: String,
    converter: DataConverter,
    /// The latest entry that was read.
    after: Option<EntryId>,
}

impl Reader {
    /// Waits for the next batches.
    async fn next(&mut self) -> Vec<RunEvent> {
        loop {
            let entries = match self.streams.read(&self.stream, self.after, MAX_ENTRIES, WAIT).await {
                Ok(entries) => entries,
                Err(error) => {
                    tracing::debug!(%error, "deltas cannot be read; trying again");
                    sleep(PAUSE).await;
                    continue;
                }
            };
            let mut deltas = Vec::new();
            for entry in entries {
                self.after = Some(entry.id);
                deltas.extend(decode_batch(&self.converter, &entry.payload).await);
            }
            if !deltas.is_empty() {
                return deltas;
            }
        }
    }
}

impl fmt::Debug for BrokerDeltas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BrokerDeltas").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
