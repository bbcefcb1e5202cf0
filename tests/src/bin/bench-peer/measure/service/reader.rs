//! A reader of a run, as a browser is: one connection, and server-sent events.

use std::time::Duration;

use anyhow::{Context, bail, ensure};
use http_body_util::{BodyExt, Full};
use hyper::{
    Method, Request, StatusCode,
    body::{Bytes, Incoming},
    header,
};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use serde_json::Value;
use temporal_agents::wire::{EventKind, RunEvent};
use temporal_agents_tests::bench::streaming_model::sent_times;
use tokio::time::timeout;

use crate::clock::monotonic_nanos;

/// A stream that is silent for longer hangs. The service sends a comment every 15 s.
const PATIENCE: Duration = Duration::from_mins(1);

/// The API, as its clients see it.
#[derive(Clone)]
pub(super) struct Api {
    client: Client<HttpConnector, Full<Bytes>>,
    address: String,
}

/// The events that a reader has received.
#[derive(Debug, Default)]
pub(super) struct Received {
    /// The ids of the facts, in order.
    pub(super) facts: Vec<String>,
    /// The times at which the chunks of the answer were sent, in order.
    pub(super) chunks: Vec<u64>,
    /// The time from the model to the reader, for each chunk.
    pub(super) latencies: Vec<Duration>,
    /// Number of chunks that arrived as deltas; the others arrived with the whole message.
    pub(super) as_deltas: usize,
    /// Number of events of any kind.
    pub(super) events: usize,
    pub(super) bytes: usize,
    /// `true` if the stream has ended with the event `end`.
    pub(super) is_complete: bool,
}

impl Api {
    pub(super) fn new(address: String) -> Self {
        Self { client: Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build_http(), address }
    }

    /// Starts a run.
    pub(super) async fn start_run(&self, id: &str, agent: &str, input: &str) -> anyhow::Result<()> {
        let body = serde_json::json!({"agent": agent, "input": input, "id": id}).to_string();
        let response = self.request(Method::POST, "/runs", body).await?;
        let status = response.status();
        let answer = response.into_body().collect().await?.to_bytes();
        ensure!(status == StatusCode::CREATED, "POST /runs: {status}, {}", String::from_utf8_lossy(&answer));
        Ok(())
    }

    /// Connects a reader of a run.
    pub(super) async fn events(&self, id: &str) -> anyhow::Result<Incoming> {
        let response = self.request(Method::GET, &format!("/runs/{id}/events"), String::new()).await?;
        ensure!(response.status() == StatusCode::OK, "GET /runs/{id}/events: {}", response.status());
        Ok(response.into_body())
    }

    async fn request(&self, method: Method, path: &str, body: String) -> anyhow::Result<hyper::Response<Incoming>> {
        let request = Request::builder()
            .method(method)
            .uri(format!("http://{}{path}", self.address))
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::from(body))?;
        timeout(PATIENCE, self.client.request(request))
            .await
            .context("the API does not answer")?
            .context(path.to_owned())
    }
}

/// Reads a stream to its end.
pub(super) async fn read(mut body: Incoming) -> anyhow::Result<Received> {
    let (mut received, mut text) = (Received::default(), Vec::new());
    while let Some(frame) = timeout(PATIENCE, body.frame()).await.context("the stream is silent")? {
        let now = monotonic_nanos();
        let Ok(data) = frame?.into_data() else { continue };
        received.bytes += data.len();
        text.extend_from_slice(&data);
        while let Some(end) = text.windows(2).position(|pair| pair == b"\n\n") {
            received.take(std::str::from_utf8(&text[..end])?, now)?;
            text.drain(..end + 2);
        }
    }
    Ok(received)
}

impl Received {
    /// Adds one event of the stream.
    fn take(&mut self, event: &str, now: u64) -> anyhow::Result<()> {
        let member = |name: &str| event.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        match (member("event"), member("data")) {
            (Some("end"), _) => self.is_complete = true,
            (Some(other), data) => bail!("an event {other}: {data:?}"),
            // A comment, which keeps the connection open.
            (None, None) => {}
            (None, Some(data)) => {
                self.events += 1;
                self.take_event(serde_json::from_str(data)?, now)?;
            }
        }
        Ok(())
    }

    fn take_event(&mut self, event: RunEvent, now: u64) -> anyhow::Result<()> {
        match &event.kind {
            EventKind::TextDelta { delta, .. } => {
                self.add_chunks(&sent_times(delta)?, now);
                self.as_deltas = self.chunks.len();
            }
            EventKind::Message { text, .. } => {
                // The deltas are the beginning of the message.
                let chunks = sent_times(text)?;
                ensure!(chunks.starts_with(&self.chunks), "the deltas are not the beginning of the message");
                let rest = chunks.get(self.as_deltas..).unwrap_or_default().to_vec();
                self.add_chunks(&rest, now);
            }
            _ => {}
        }
        if !event.is_delta() {
            self.facts.push(event.id);
        }
        Ok(())
    }

    fn add_chunks(&mut self, chunks: &[u64], now: u64) {
        self.chunks.extend_from_slice(chunks);
        self.latencies.extend(chunks.iter().map(|sent| Duration::from_nanos(now.saturating_sub(*sent))));
    }
}

/// Returns the output of the run as the model's chunks.
pub(super) fn chunks_of(output: &Value) -> anyhow::Result<Vec<u64>> {
    sent_times(output.as_str().context("the output is not a text")?)
}
