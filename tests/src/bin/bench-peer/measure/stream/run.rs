//! A run whose model streams, and a reader of its deltas.

use std::time::Duration;

use anyhow::{Context, ensure};
use clap::ValueEnum;
use temporal_agents::{
    client::{RunEventStream, RunEvents},
    wire::EventKind,
};
use temporal_agents_tests::bench::{Streamed, Transport, streaming_model::sent_times};
use temporalio_client::{Client, WorkflowGetResultOptions, WorkflowHandle, WorkflowStartOptions};
use temporalio_common::{HasWorkflowDefinition, WorkflowDefinition};
use tokio::time::timeout;

use super::{Server, WorkerProcess};
use crate::clock::monotonic_nanos;

/// A run or a stream that takes longer hangs.
const PATIENCE: Duration = Duration::from_mins(2);

/// A worker for each transport, and their server.
pub(super) struct Workers<'a> {
    pub(super) server: &'a Server,
    processes: Vec<WorkerProcess>,
}

/// The workflow, by name.
pub(super) struct StreamedWork;

impl WorkflowDefinition for StreamedWork {
    type Input = Streamed;
    type Output = String;

    fn name(&self) -> &'static str {
        "stream_bench"
    }
}

impl HasWorkflowDefinition for StreamedWork {
    type Run = Self;
}

impl<'a> Workers<'a> {
    /// Starts the workers, and runs each once: the first run of a worker is slower.
    pub(super) async fn open(server: &'a Server) -> anyhow::Result<Self> {
        let mut workers = Self { server, processes: Vec::new() };
        for transport in Transport::value_variants() {
            let arguments = ["--deltas", &transport.name()];
            let worker = WorkerProcess::start_with(server.address(), &queue(*transport), &arguments).await?;
            workers.processes.push(worker);
            let work = Streamed { first_pause_ms: 0, chunks: 5, pause_ms: 5 };
            read(workers.live(&workers.begin(*transport, work).await?), work).await?;
        }
        Ok(workers)
    }

    /// Returns the worker of a transport.
    pub(super) fn of(&self, transport: Transport) -> &WorkerProcess {
        &self.processes[transport as usize]
    }

    /// Starts a run.
    pub(super) async fn begin(
        &self,
        transport: Transport,
        work: Streamed,
    ) -> anyhow::Result<WorkflowHandle<Client, StreamedWork>> {
        // The same size for all runs, so that their histories can be compared.
        let id = format!("stream-{:06}", self.server.next_number());
        let options = WorkflowStartOptions::new(queue(transport), id).build();
        Ok(self.server.client.start_workflow(StreamedWork, work, options).await?)
    }

    /// Returns the events and deltas of a run, with a reader of its own.
    pub(super) fn live(&self, handle: &WorkflowHandle<Client, StreamedWork>) -> RunEventStream {
        RunEvents::new(&self.server.client).watch_live(&*handle.info().workflow_id)
    }
}

/// Returns the name of the task queue of a transport's worker; all names have one size.
pub(super) fn queue(transport: Transport) -> String {
    format!("stream-{:02}", transport as usize)
}

/// Waits for the end of a run.
pub(super) async fn end(handle: &WorkflowHandle<Client, StreamedWork>) -> anyhow::Result<()> {
    let result = timeout(PATIENCE, handle.get_result(WorkflowGetResultOptions::default())).await;
    result.context("the run has not ended")??;
    Ok(())
}

/// The chunks that a reader has received.
#[derive(Debug, Default)]
pub(super) struct Received {
    /// The time from the model to the reader, for each chunk.
    pub(super) latencies: Vec<Duration>,
    /// Number of chunks that arrived as deltas; the others arrived with the whole message.
    pub(super) as_deltas: usize,
}

impl Received {
    fn add(&mut self, chunks: &[u64], now: u64) {
        let latency = |sent: &u64| Duration::from_nanos(now.saturating_sub(*sent));
        self.latencies.extend(chunks.iter().map(latency));
    }
}

/// Reads a stream to its end.
pub(super) async fn read(mut stream: RunEventStream, work: Streamed) -> anyhow::Result<Received> {
    let mut received = Received::default();
    while let Some(event) = timeout(PATIENCE, stream.next()).await.context("the stream is silent")? {
        let now = monotonic_nanos();
        match event?.kind {
            EventKind::TextDelta { delta, .. } => {
                received.add(&sent_times(&delta)?, now);
                received.as_deltas = received.latencies.len();
            }
            EventKind::Message { text, .. } => {
                // The deltas are the beginning of the message.
                let chunks = sent_times(&text)?;
                received.add(chunks.get(received.as_deltas..).context("there are more deltas than chunks")?, now);
            }
            _ => {}
        }
    }
    let chunks = received.latencies.len();
    ensure!(chunks == usize::try_from(work.chunks)?, "{chunks} chunks arrived of {work:?}");
    Ok(received)
}

/// Reads a stream to its first text, and returns the time at which the model has sent it.
pub(super) async fn read_first_text(mut stream: RunEventStream) -> anyhow::Result<u64> {
    while let Some(event) = timeout(PATIENCE, stream.next()).await.context("the stream is silent")? {
        match event?.kind {
            EventKind::TextDelta { delta, .. } => return sent_times(&delta)?.first().copied().context("an empty text"),
            EventKind::Message { .. } => anyhow::bail!("the whole message came before its first delta"),
            _ => {}
        }
    }
    anyhow::bail!("the stream has ended without a text")
}
