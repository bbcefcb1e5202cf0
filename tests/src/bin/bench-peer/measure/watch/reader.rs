//! A reader, and the events that it has received.

use std::time::{Duration, SystemTime};

use anyhow::Context;
use prost_types::Timestamp;
use temporal_agents::client::RunEventStream;
use temporalio_client::{Client, NamespacedClient, grpc::WorkflowService, tonic::Request};
use temporalio_common::protos::temporal::api::{
    common::v1::WorkflowExecution, enums::v1::EventType, workflowservice::v1::GetWorkflowExecutionHistoryRequest,
};
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

impl Received {
    /// Adds the latency of an event that the reader has now.
    fn note(&mut self, time: Timestamp, now: SystemTime, connected: SystemTime) -> anyhow::Result<()> {
        let happened = SystemTime::try_from(time)?;
        if happened >= connected {
            // The server runs on the same machine, with the same clock.
            self.latencies.push(now.duration_since(happened).unwrap_or_default());
        }
        Ok(())
    }
}

/// Reads a stream to its end.
pub(super) async fn read(mut stream: RunEventStream) -> anyhow::Result<Received> {
    let mut received = Received::default();
    let mut connected = None;
    while let Some(event) = timeout(PATIENCE, stream.next()).await.context("the stream is silent")? {
        let now = SystemTime::now();
        let event = event?;
        received.note(event.time.parse::<Timestamp>()?, now, *connected.get_or_insert(now))?;
        received.ids.push(event.id);
    }
    Ok(received)
}

/// Reads streams to their ends, each in a task.
pub(super) fn read_all(streams: impl IntoIterator<Item = RunEventStream>) -> JoinSet<anyhow::Result<Received>> {
    streams.into_iter().map(read).collect()
}

/// Polls the history of a workflow to its end, without decoding what the events hold. Notes the
/// latency of the events that tell something of a run.
pub(super) async fn poll(mut client: Client, workflow_id: String) -> anyhow::Result<Received> {
    let mut received = Received::default();
    let mut connected = None;
    let execution = Some(WorkflowExecution { workflow_id, run_id: String::new() });
    let mut request = GetWorkflowExecutionHistoryRequest {
        namespace: client.namespace(),
        execution,
        wait_new_event: true,
        ..GetWorkflowExecutionHistoryRequest::default()
    };
    loop {
        let polled = WorkflowService::get_workflow_execution_history(&mut client, Request::new(request.clone()));
        let page = timeout(PATIENCE, polled).await.context("the history is silent")??.into_inner();
        let now = SystemTime::now();
        for event in page.history.unwrap_or_default().events {
            let time = event.event_time.context("an event has no time")?;
            let time = Timestamp { seconds: time.seconds, nanos: time.nanos };
            let connected = *connected.get_or_insert(now);
            match event.event_type() {
                EventType::ActivityTaskScheduled
                | EventType::ActivityTaskCompleted
                | EventType::WorkflowPropertiesModified => received.note(time, now, connected)?,
                _ => {}
            }
        }
        if page.next_page_token.is_empty() {
            return Ok(received);
        }
        request.next_page_token = page.next_page_token;
    }
}
