//! Deltas of tasks over a broker: from the owner of a task to followers in other processes.
//!
//! # Design
//! **A task has one stream, in the order of its hub.** It holds deltas, each batch below the number
//! of the fact before it, and the numbers of facts that the store has by then. So a follower knows
//! when to look at the store, and which deltas come before a fact.
//!
//! **A text has no gaps.** The owner numbers the deltas of each call, including those it drops. A follower
//! passes a delta on only if it has all earlier deltas of the attempt.
//!
//! **An unavailable broker costs deltas only.** A separate tokio task sends them; the writer of facts never
//! waits for it.

use std::{
    collections::VecDeque,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use futures::{Stream, StreamExt};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use temporal_agents_core::wire::{EventKind, RunEvent, decode};
use tokio::{
    sync::mpsc::{Receiver, Sender, channel},
    time::{Instant, sleep_until},
};

use crate::{
    events::{DeltaOrder, attempt_id, delta_of},
    remote::{BATCH_INTERVAL, BatchWriter, read_batches, transport::Streams},
};

/// Number of events of a task that wait for the broker. Further ones are lost.
const MAX_QUEUED: usize = 1_024;
/// Number of calls, the latest ones, whose deltas are numbered.
const MAX_CALLS: usize = 512;

/// The broker of the deltas of all tasks.
#[derive(Clone)]
pub(super) struct DeltaBroker {
    streams: Arc<dyn Streams>,
    /// `true` once an outage was logged, until it is over.
    is_unavailable: Arc<AtomicBool>,
}

/// The deltas after a fact; without deltas, the news that the store has the fact.
#[derive(Debug)]
pub(super) struct DeltaPart {
    /// Number of the latest fact before the deltas.
    pub(super) fact: i64,
    /// The deltas, with ids of their calls and numbers: see [`DeltaFilter`].
    pub(super) deltas: Vec<RunEvent>,
}

/// A part as the stream has it.
#[derive(Serialize, Deserialize)]
struct SentPart {
    fact: i64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    deltas: Vec<Value>,
}

impl DeltaBroker {
    pub(super) fn new(streams: Arc<dyn Streams>) -> Self {
        Self { streams, is_unavailable: Arc::default() }
    }

    /// Starts to publish the deltas of an execution of a task, until the publisher is dropped.
    pub(super) fn publisher(&self, execution: &str) -> DeltaPublisher {
        let (queue, queued) = channel(MAX_QUEUED);
        tokio::spawn(self.clone().publish(stream_name(execution), queued));
        DeltaPublisher { queue, orders: CallOrders::default() }
    }

    /// Reads what the owner of a task publishes, from the oldest part that the broker has.
    pub(super) fn read(&self, execution: &str) -> impl Stream<Item = Vec<DeltaPart>> + Send + use<> {
        let broker = self.clone();
        read_batches(Arc::clone(&self.streams), stream_name(execution)).map(move |entries| {
            broker.log_outage(entries.as_ref().err());
            let sent = entries.unwrap_or_default();
            let parts = sent.iter().filter_map(|entry| serde_json::from_slice::<Vec<SentPart>>(&entry.payload).ok());
            parts.flatten().map(DeltaPart::from_sent).collect()
        })
    }

    async fn publish(self, stream: String, mut queued: Receiver<Queued>) {
        let mut writer = BatchWriter::new(Arc::clone(&self.streams));
        let mut received = Vec::new();
        while queued.recv_many(&mut received, MAX_QUEUED).await > 0 {
            let due = Instant::now() + BATCH_INTERVAL;
            if let Ok(batch) = serde_json::to_vec(&group_by_fact(received.drain(..))) {
                self.log_outage(writer.append(&stream, batch).await.err());
            }
            sleep_until(due).await;
        }
    }

    /// Logs an outage once, when it begins.
    fn log_outage(&self, error: Option<impl fmt::Display>) {
        let was_unavailable = self.is_unavailable.swap(error.is_some(), Ordering::Relaxed);
        if let (Some(error), false) = (error, was_unavailable) {
            tracing::warn!(%error, "the broker of deltas is unavailable: readers in other processes have facts only");
        }
    }
}

/// Returns the name of the stream of an execution, whose id is unique among all databases.
fn stream_name(execution: &str) -> String {
    format!("deltas:task:{execution}")
}

/// An event on its way to the broker: a delta after this fact, or the fact itself.
struct Queued {
    fact: i64,
    delta: Option<Box<RunEvent>>,
}

fn group_by_fact(queued: impl Iterator<Item = Queued>) -> Vec<SentPart> {
    let mut parts: Vec<SentPart> = Vec::new();
    for Queued { fact, delta } in queued {
        let delta = delta.and_then(|delta| serde_json::to_value(delta).ok());
        match parts.last_mut() {
            Some(last) if last.fact == fact => last.deltas.extend(delta),
            // A fact says all that the facts before it say.
            Some(last) if last.deltas.is_empty() => *last = SentPart { fact, deltas: Vec::from_iter(delta) },
            _ => parts.push(SentPart { fact, deltas: Vec::from_iter(delta) }),
        }
    }
    parts
}

impl DeltaPart {
    /// Reads a part. Deltas that this build cannot read are missing.
    fn from_sent(sent: SentPart) -> Self {
        let deltas = sent.deltas.into_iter().filter_map(|delta| decode("run event", delta).ok()).collect();
        Self { fact: sent.fact, deltas }
    }
}

/// The deltas of one task on their way to the broker.
pub(super) struct DeltaPublisher {
    queue: Sender<Queued>,
    orders: CallOrders,
}

impl DeltaPublisher {
    /// Publishes that the store has the facts up to this one.
    pub(super) fn fact(&self, fact: i64) {
        // Followers also look by themselves.
        let _ = self.queue.try_send(Queued { fact, delta: None });
    }

    /// Publishes a delta after the fact of this number.
    pub(super) fn delta(&mut self, fact: i64, mut delta: RunEvent) {
        if let Some((call, attempt)) = delta_call(&delta) {
            let number = self.orders.order_mut(&call).take_number(attempt);
            delta.id = format!("{}.{number}", attempt_id(&call, attempt));
        }
        // The number of a delta that is lost is missing.
        let _ = self.queue.try_send(Queued { fact, delta: Some(Box::new(delta)) });
    }
}

/// The deltas that a follower passes on.
#[derive(Default)]
pub(super) struct DeltaFilter(CallOrders);

impl DeltaFilter {
    /// Returns the delta as its owner has it; `None` if one before it is missing, or if it came
    /// before.
    pub(super) fn pass(&mut self, mut delta: RunEvent) -> Option<RunEvent> {
        let id = std::mem::take(&mut delta.id);
        let Some((call, attempt, number)) = delta_of(&id) else { return Some(delta) };
        self.0.order_mut(call).record(attempt, number).then_some(delta)
    }
}

/// The order of the deltas of each call, the latest call last.
#[derive(Default)]
struct CallOrders(VecDeque<(String, DeltaOrder)>);

impl CallOrders {
    fn order_mut(&mut self, call: &str) -> &mut DeltaOrder {
        let place = self.0.iter().rposition(|(known, _)| known == call).unwrap_or_else(|| {
            if self.0.len() == MAX_CALLS {
                self.0.pop_front();
            }
            self.0.push_back((call.to_owned(), DeltaOrder::default()));
            self.0.len() - 1
        });
        &mut self.0[place].1
    }
}

/// Returns the call and the attempt of a delta.
fn delta_call(delta: &RunEvent) -> Option<(String, u32)> {
    match &delta.kind {
        EventKind::TextDelta { message_id, attempt, .. }
        | EventKind::ReasoningDelta { message_id, attempt, .. }
        | EventKind::ToolArgumentsDelta { message_id, attempt, .. } => {
            let call = message_id.rsplit_once('/').map_or(&**message_id, |(call, _)| call);
            Some((call.to_owned(), *attempt))
        }
        EventKind::ToolOutputDelta { call_id, attempt, .. } | EventKind::EmittedDelta { call_id, attempt, .. } => {
            Some((format!("{}/{call_id}", delta.run), *attempt))
        }
        EventKind::AttemptDelta { effect, attempt, .. } => {
            let path = delta.path.join("/");
            Some((format!("{}/{path}/{effect}/attempts", delta.run), *attempt))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
