//! The transport of deltas over a broker that workers and readers share: Redis.
//!
//! # Design
//! **A call has a stream of its own,** which a reader reads from its beginning: a reader that
//! begins in the middle of a message receives all of it. The call is one of an execution of a
//! workflow: after a reset, the same call has another stream.
//!
//! **What a broker holds is bounded.** A stream keeps the latest entries of one attempt, about 1 MB
//! of them, and expires. If the beginning of an attempt was removed, a later reader receives nothing
//! of it; readers that were there receive the rest.
//!
//! **A broker that is unavailable costs a call nothing.** The task of the batches waits for it, not
//! the activity. After 5 s the rest of the attempt is lost; the next one tries again.
//!
//! **The codec of the workers applies,** as to the heartbeats: an entry is a payload of the
//! client's data converter.

mod entry;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod in_process;

use std::{fmt, sync::Arc, time::Duration};

use futures::{FutureExt, StreamExt, future::BoxFuture, stream::BoxStream};
use temporal_agents_core::{
    drive::guard::guarded,
    wire::{RunEvent, tool_batch::calls_in},
};
use temporalio_client::NamespacedClient;
use temporalio_common::data_converters::DataConverter;

use self::entry::{decode_batch, encode_batch, stream_of};
use crate::{
    client::{DeltaCall, DeltaReader},
    deltas::{DeltaBatch, DeltaChannel, DeltaSource, DeltaTransport},
    events::{CallOfRun, delta_of},
    remote::{BATCH_INTERVAL, BatchWriter, read_batches, transport::Streams},
};

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
        Box::new(Channel { writer: BatchWriter::new(Arc::clone(&self.streams)), converter, execution })
    }

    fn interval(&self) -> Duration {
        BATCH_INTERVAL
    }
}

/// Returns `true` for the activity of a call, or of several calls, of a run.
fn is_of_run(activity_id: &str) -> bool {
    CallOfRun::of(activity_id).is_some() || !calls_in(activity_id).is_empty()
}

/// The channel of one attempt.
struct Channel {
    /// The writer of the call's stream: the first batch of an attempt replaces the batches of
    /// earlier attempts.
    writer: BatchWriter,
    converter: DataConverter,
    /// Namespace, id and run id of the workflow; `None` if there are no readers.
    execution: Option<[String; 3]>,
}

impl DeltaChannel for Channel {
    fn send(&mut self, batch: DeltaBatch) -> BoxFuture<'_, bool> {
        async move {
            let Some((call, stream)) = self.call_of(&batch.events) else { return false };
            let Some(entry) = encode_batch(&self.converter, &batch.events).await else { return false };
            match self.writer.append(&stream, entry).await {
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
    /// Returns the call of a batch, and its stream.
    fn call_of<'e>(&self, events: &'e [RunEvent]) -> Option<(&'e str, String)> {
        let [namespace, workflow_id, run_id] = self.execution.as_ref()?;
        let (call, ..) = delta_of(&events.first()?.id)?;
        Some((call, stream_of([namespace, workflow_id, run_id, call])))
    }
}

impl DeltaReader for BrokerDeltas {
    fn read(&self, call: DeltaCall) -> BoxStream<'static, Vec<RunEvent>> {
        let stream = stream_of([call.namespace(), call.workflow_id(), call.run_id(), call.id()]);
        let entries = read_batches(Arc::clone(&self.streams), stream);
        let converter = call.converter;
        let batches = entries.filter_map(move |entries| {
            let converter = converter.clone();
            async move {
                let entries = entries
                    .inspect_err(|error| tracing::debug!(%error, "deltas cannot be read; trying again"))
                    .unwrap_or_default();
                let mut deltas = Vec::new();
                for entry in entries {
                    deltas.extend(decode_batch(&converter, &entry.payload).await);
                }
                (!deltas.is_empty()).then_some(deltas)
            }
        });
        batches.boxed()
    }
}

impl fmt::Debug for BrokerDeltas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BrokerDeltas").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
