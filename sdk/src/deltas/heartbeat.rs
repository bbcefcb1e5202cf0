//! The transport by the heartbeats of the activity: no event in history.
//!
//! The details of a heartbeat hold the latest deltas, at most 16 KB of them. A batch is sent at
//! once, past the throttle of Temporal's SDK; the heartbeats in between, which report that the
//! activity is alive, carry the same details.

use std::{collections::VecDeque, time::Duration};

use futures::{FutureExt, future::BoxFuture};
use temporal_agents_core::{
    drive::guard::guarded,
    wire::{RunEvent, delta_window::DeltaWindow, size::encoded_len},
};
use temporalio_client::{ActivityIdentifier, AsyncActivityHandle, Client, RpcOptions};

use super::{
    carrier::CarriedCall,
    details::HeartbeatDetails,
    transport::{DeltaBatch, DeltaChannel, DeltaSource, DeltaTransport},
};

/// The maximum size of the deltas in a heartbeat, in bytes of JSON.
const MAX_WINDOW_BYTES: usize = 16_000;
/// The longest time that a request may take: the next batch has more.
const TIME_LIMIT: Duration = Duration::from_secs(5);

/// A transport by heartbeats. [`RunEvents::watch_live`](crate::client::RunEvents::watch_live) reads
/// it in any process.
///
/// Costs one heartbeat request (in Temporal Cloud: one action) for each batch, ten a second while
/// an activity streams, and no event in history. A reader that is away longer than a few seconds
/// misses the rest of the message, until its whole text is in history.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct HeartbeatDeltas;

impl HeartbeatDeltas {
    /// Creates the transport.
    pub fn new() -> Self {
        Self
    }
}

impl DeltaTransport for HeartbeatDeltas {
    fn open(&self, source: &DeltaSource) -> Box<dyn DeltaChannel> {
        let info = source.ctx.info();
        // The context of a test has no client, and panics.
        // The server has no heartbeats of a local activity.
        // An activity that carries the deltas beside its own details sends the heartbeats itself.
        let has_none = info.is_local || source.carried.is_some();
        let client = if has_none { None } else { guarded(|| source.ctx.client()).ok() };
        let handle = client.map(|client| {
            client.get_async_activity_handle(ActivityIdentifier::TaskToken(info.task_token.clone().into()))
        });
        let (details, carried) = (source.details.clone(), source.carried.clone());
        Box::new(Channel { handle, details, carried, window: Window::default() })
    }
}

struct Channel {
    handle: Option<AsyncActivityHandle<Client>>,
    details: HeartbeatDetails,
    carried: Option<CarriedCall>,
    window: Window,
}

/// The latest deltas of an attempt.
#[derive(Default)]
struct Window {
    /// The deltas, and their sizes.
    deltas: VecDeque<(RunEvent, usize)>,
    bytes: usize,
    first: u64,
}

impl Window {
    fn add(&mut self, event: RunEvent) {
        let bytes = encoded_len(&event).unwrap_or_default();
        self.deltas.push_back((event, bytes));
        self.bytes += bytes;
        while self.bytes > MAX_WINDOW_BYTES
            && let Some((_, bytes)) = self.deltas.pop_front()
        {
            self.bytes -= bytes;
            self.first += 1;
        }
    }

    fn write(&self, window: &mut DeltaWindow) {
        window.first = self.first;
        window.deltas = self.deltas.iter().map(|(event, _)| event.clone()).collect();
    }
}

impl DeltaChannel for Channel {
    fn send(&mut self, batch: DeltaBatch) -> BoxFuture<'_, bool> {
        for event in batch.events {
            self.window.add(event);
        }
        let details = self.details.change(|window| self.window.write(window));
        async move {
            if let Some(CarriedCall { call, carrier }) = &self.carried {
                carrier.carry(call.clone(), details).await;
                return true;
            }
            let Some(handle) = &self.handle else { return true };
            // A request that fails loses nothing: the next one carries the same deltas.
            let sending = handle.heartbeat(Some(details), RpcOptions::default());
            if let Ok(Err(error)) = tokio::time::timeout(TIME_LIMIT, sending).await {
                tracing::debug!(%error, "a heartbeat with deltas was not accepted");
            }
            true
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests;
