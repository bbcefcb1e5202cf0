//! The batches of one attempt, and the task that sends them.

use std::{
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures::FutureExt;
use serde_json::Value;
use temporal_agents_core::wire::{EventKind, RunEvent, size::encoded_len};
use tokio::{
    sync::Notify,
    task::JoinHandle,
    time::{Duration, Instant, timeout, timeout_at},
};

use super::transport::{DeltaBatch, DeltaSource, DeltaTransport};
use crate::metrics::Metrics;

/// The maximum size of the deltas that wait for a slow transport, in bytes of JSON.
const MAX_WAITING_BYTES: usize = 256 * 1024;
/// The maximum size of the provider's own events that wait. They repeat the definitions of all
/// tools.
const MAX_WAITING_NATIVE_BYTES: usize = 1024 * 1024;
/// The longest time that a call waits for its last batch.
const LAST_BATCH_TIMEOUT: Duration = Duration::from_secs(1);

/// The deltas of one attempt that wait for their transport. The task that sends them ends with it.
pub(crate) struct Batches {
    shared: Arc<Shared>,
    task: Mutex<Option<JoinHandle<()>>>,
    waits_for_last_batch: bool,
}

struct Shared {
    waiting: Mutex<Waiting>,
    news: Notify,
    metrics: Option<Metrics>,
}

#[derive(Default)]
struct Waiting {
    batch: DeltaBatch,
    bytes: usize,
    native_bytes: usize,
    /// `true` once a part was lost: the attempt sends no more.
    is_broken: bool,
    /// `true` once an event of the provider was lost: the attempt sends no more of them.
    is_native_broken: bool,
    /// `true` once nothing is added any more.
    is_finished: bool,
}

impl Batches {
    /// Starts the task that sends batches. `attempt` is the prefix of the ids of the deltas.
    pub(crate) fn start(
        transport: Arc<dyn DeltaTransport>,
        source: DeltaSource,
        attempt: String,
        metrics: Option<Metrics>,
    ) -> Self {
        let shared = Arc::new(Shared { waiting: Mutex::default(), news: Notify::new(), metrics });
        let waits_for_last_batch = transport.waits_for_last_batch();
        let task = tokio::spawn(send(transport, source, attempt, Arc::clone(&shared)));
        Self { shared, task: Mutex::new(Some(task)), waits_for_last_batch }
    }

    /// Adds a delta to the next batch.
    pub(crate) fn add(&self, event: RunEvent) {
        let mut waiting = self.shared.lock();
        if waiting.is_broken || waiting.is_finished {
            return;
        }
        match waiting.batch.events.last_mut() {
            Some(last) if continues(last, &event) => {
                let bytes = text_of(&event.kind).map_or(0, str::len);
                append(&mut last.kind, event.kind);
                waiting.bytes += bytes;
            }
            _ => {
                waiting.bytes += encoded_len(&event).unwrap_or_default();
                waiting.batch.events.push(event);
            }
        }
        if waiting.bytes > MAX_WAITING_BYTES {
            tracing::warn!("the transport of deltas is too slow: the rest of the attempt is not sent");
            self.shared.lose(&mut waiting);
            return;
        }
        drop(waiting);
        self.shared.news.notify_one();
    }

    /// Adds an event of the provider's own stream to the next batch.
    pub(super) fn add_native(&self, event: Value) {
        let mut waiting = self.shared.lock();
        if waiting.is_broken || waiting.is_native_broken || waiting.is_finished {
            return;
        }
        waiting.native_bytes += encoded_len(&event).unwrap_or_default();
        if waiting.native_bytes > MAX_WAITING_NATIVE_BYTES {
            tracing::warn!("the provider's own events are too large for the transport of deltas: the rest is not sent");
            waiting.is_native_broken = true;
            waiting.batch.native.clear();
            return;
        }
        waiting.batch.native.push(event);
        drop(waiting);
        self.shared.news.notify_one();
    }

    /// Ends the deltas of an attempt that has succeeded, and sends the last batch if the transport
    /// sends it.
    pub(crate) async fn finish(&self) {
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut task) = task else { return };
        self.shared.lock().is_finished = true;
        self.shared.news.notify_one();
        if !self.waits_for_last_batch || timeout(LAST_BATCH_TIMEOUT, &mut task).await.is_err() {
            task.abort();
        }
    }
}

impl Drop for Batches {
    fn drop(&mut self) {
        // The attempt has failed, or its answer supersedes what waits.
        if let Some(task) = self.task.get_mut().unwrap_or_else(PoisonError::into_inner) {
            task.abort();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drops what waits, and all that follows.
    fn lose(&self, waiting: &mut Waiting) {
        *waiting = Waiting { is_broken: true, ..Waiting::default() };
        if let Some(metrics) = &self.metrics {
            metrics.lost_deltas();
        }
    }
}

/// Sends the batches of an attempt, until it is aborted or a batch is lost.
async fn send(transport: Arc<dyn DeltaTransport>, source: DeltaSource, attempt: String, shared: Arc<Shared>) {
    // An attempt without deltas opens no channel.
    let mut channel = None;
    // The first part is sent at once.
    let mut due = Instant::now();
    let mut number = 0;
    loop {
        shared.news.notified().await;
        // The end of the attempt is sent at once.
        while Instant::now() < due && !shared.lock().is_finished {
            let _ = timeout_at(due, shared.news.notified()).await;
        }
        let (mut batch, is_finished) = {
            let mut waiting = shared.lock();
            (waiting.bytes, waiting.native_bytes) = (0, 0);
            (std::mem::take(&mut waiting.batch), waiting.is_finished)
        };
        if batch.events.is_empty() && batch.native.is_empty() {
            if is_finished {
                return;
            }
            continue;
        }
        for event in &mut batch.events {
            event.id = format!("{attempt}.{number}");
            number += 1;
        }
        // The beginning of an attempt delays no token.
        let is_beginning = batch.native.is_empty()
            && batch.events.iter().all(|event| matches!(event.kind, EventKind::AttemptDelta { .. }));
        // A transport must not fail the activity, also not by a panic.
        let sending = async {
            let channel = channel.get_or_insert_with(|| transport.open(&source));
            channel.send(batch).await
        };
        let sent = AssertUnwindSafe(sending).catch_unwind().await;
        if !sent.unwrap_or(false) {
            shared.lose(&mut shared.lock());
            return;
        }
        if is_finished {
            return;
        }
        if !is_beginning {
            due = Instant::now() + transport.interval();
        }
    }
}

/// Returns `true` if an event is the next part of the same text.
fn continues(last: &RunEvent, next: &RunEvent) -> bool {
    use EventKind::{ReasoningDelta, TextDelta, ToolArgumentsDelta};
    match (&last.kind, &next.kind) {
        (TextDelta { message_id: one, .. }, TextDelta { message_id: other, .. })
        | (ReasoningDelta { message_id: one, .. }, ReasoningDelta { message_id: other, .. })
        | (ToolArgumentsDelta { message_id: one, .. }, ToolArgumentsDelta { message_id: other, .. }) => one == other,
        _ => false,
    }
}

fn append(kind: &mut EventKind, next: EventKind) {
    if let (Some(text), Some(more)) = (text_mut(kind), text_of(&next)) {
        text.push_str(more);
    }
}

fn text_of(kind: &EventKind) -> Option<&str> {
    match kind {
        EventKind::TextDelta { delta, .. }
        | EventKind::ReasoningDelta { delta, .. }
        | EventKind::ToolArgumentsDelta { delta, .. }
        | EventKind::ToolOutputDelta { delta, .. } => Some(delta),
        _ => None,
    }
}

fn text_mut(kind: &mut EventKind) -> Option<&mut String> {
    match kind {
        EventKind::TextDelta { delta, .. }
        | EventKind::ReasoningDelta { delta, .. }
        | EventKind::ToolArgumentsDelta { delta, .. } => Some(delta),
        _ => None,
    }
}
