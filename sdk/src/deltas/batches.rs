//! The batches of one attempt, and the task that sends them.

use std::{
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures::FutureExt;
use tokio::{
    sync::Notify,
    task::AbortHandle,
    time::{Instant, sleep_until},
};

use super::transport::{DeltaSource, DeltaTransport};
use crate::wire::{EventKind, RunEvent, size::encoded_len};

/// The maximum size of the texts and values that wait for a slow transport, in bytes.
const MAX_WAITING_BYTES: usize = 256 * 1024;

/// The deltas of one attempt that wait for their transport. The task that sends them ends with it.
pub(super) struct Batches {
    shared: Arc<Shared>,
    task: AbortHandle,
}

struct Shared {
    waiting: Mutex<Waiting>,
    news: Notify,
}

#[derive(Default)]
struct Waiting {
    events: Vec<RunEvent>,
    bytes: usize,
    /// `true` once a part was lost: the attempt sends no more.
    is_broken: bool,
}

impl Batches {
    /// Starts the task that sends batches.
    pub(super) fn start(transport: Arc<dyn DeltaTransport>, source: DeltaSource) -> Self {
        let shared = Arc::new(Shared { waiting: Mutex::default(), news: Notify::new() });
        let task = tokio::spawn(send(transport, source, Arc::clone(&shared))).abort_handle();
        Self { shared, task }
    }

    /// Adds a delta to the next batch.
    pub(super) fn add(&self, event: RunEvent) {
        let mut waiting = self.shared.lock();
        if waiting.is_broken {
            return;
        }
        waiting.bytes += match &event.kind {
            EventKind::EmittedDelta { value, .. } => encoded_len(value).unwrap_or_default(),
            kind => text_of(kind).map_or(100, str::len),
        };
        if waiting.bytes > MAX_WAITING_BYTES {
            tracing::warn!(run = event.run, "the transport of deltas is too slow: the rest of the attempt is not sent");
            *waiting = Waiting { is_broken: true, ..Waiting::default() };
            return;
        }
        match waiting.events.last_mut() {
            Some(last) if continues(last, &event) => append(&mut last.kind, event.kind),
            _ => waiting.events.push(event),
        }
        drop(waiting);
        self.shared.news.notify_one();
    }
}

impl Drop for Batches {
    fn drop(&mut self) {
        // The answer is there, and supersedes what waits.
        self.task.abort();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends the batches of an attempt, until it is aborted or a batch is lost.
async fn send(transport: Arc<dyn DeltaTransport>, source: DeltaSource, shared: Arc<Shared>) {
    // An attempt without deltas opens no channel.
    let mut channel = None;
    // The first part is sent at once.
    let mut due = Instant::now();
    loop {
        shared.news.notified().await;
        sleep_until(due).await;
        let batch = {
            let mut waiting = shared.lock();
            waiting.bytes = 0;
            std::mem::take(&mut waiting.events)
        };
        if batch.is_empty() {
            continue;
        }
        let channel = channel.get_or_insert_with(|| transport.open(&source));
        // A transport must not fail the activity, also not by a panic.
        let sent = AssertUnwindSafe(channel.send(batch)).catch_unwind().await;
        if !sent.unwrap_or(false) {
            *shared.lock() = Waiting { is_broken: true, ..Waiting::default() };
            return;
        }
        due = Instant::now() + transport.interval();
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
