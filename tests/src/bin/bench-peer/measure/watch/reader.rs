//! A reader, and the events that it has received.

use std::time::{Duration, SystemTime};

use anyhow::Context;
use prost_types::Timestamp;
use temporal_agents::client::RunEventStream;
use tokio::{task::JoinSet, time::timeout};

/// A stream that is silent for longer hangs.
const PATIENCE: Duration = Duration::from_mins(2);

/// The events that a reader has received.
#[derive(Debug, Default)]
pub(super) struct Received {
    /// The ids of all events, in order.
    pub(super) ids: Vec<String>,
    /// The time from the event in history to the reader, for the events that happened after the
    /// reader had received its first one.
    pub(super) latencies: Vec<Duration>,
}

/// Reads a stream to its end.
pub(super) async fn read(mut stream: RunEventStream) -> anyhow::Result<Received> {
    let mut received = Received::default();
    let mut connected = None;
    while let Some(event) = timeout(PATIENCE, stream.next()).await.context("the stream is silent")? {
        let now = SystemTime::now();
        let event = event?;
        let happened = SystemTime::try_from(event.time.parse::<Timestamp>()?)?;
        if happened >= *connected.get_or_insert(now) {
            // The server runs on the same machine, with the same clock.
            received.latencies.push(now.duration_since(happened).unwrap_or_default());
        }
        received.ids.push(event.id);
    }
    Ok(received)
}

/// Reads streams to their ends, each in a task.
pub(super) fn read_all(streams: impl IntoIterator<Item = RunEventStream>) -> JoinSet<anyhow::Result<Received>> {
    streams.into_iter().map(read).collect()
}
