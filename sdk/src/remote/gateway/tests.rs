//! A gateway over streams in memory, and providers that are a few messages.

mod calls;
mod registrations;

use std::time::Duration;

use serde_json::{Value, json};
use temporal_agents_core::wire::RemoteTool;
use tokio::{
    task::JoinHandle,
    time::{sleep, timeout},
};

use super::{Gateway, Registration, Toolset};
use crate::remote::{
    message::{ToolCallMessage, toolset_stream},
    transport::{Append, Entry, MemoryTransport, Streams},
};

const NOW: Duration = Duration::ZERO;

/// A gateway that serves until it is dropped, and its streams.
struct Served {
    streams: MemoryTransport,
    gateway: Gateway,
    serving: JoinHandle<()>,
}

impl Served {
    fn start(streams: &MemoryTransport) -> Self {
        let gateway = Gateway::new(streams.clone());
        let of_task = gateway.clone();
        let serving = tokio::spawn(async move { of_task.serve(std::future::pending()).await });
        Self { streams: streams.clone(), gateway, serving }
    }

    /// Sends a message of a provider.
    async fn send(&self, registration: Registration) {
        self.streams.append(registration.append().expect("JSON")).await.expect("appended");
    }

    async fn register(&self, toolset: Toolset) {
        self.send(Registration::Register(Box::new(toolset))).await;
    }

    async fn pong(&self, toolset: &str) {
        self.send(Registration::Pong { toolset: toolset.to_owned(), ping_id: String::new() }).await;
    }

    /// Registers the toolset `files`, and sends a pong once the gateway knows it.
    async fn provide_files(&self) {
        self.register(files()).await;
        until(|| self.gateway.catalogue().get("files").is_some()).await;
        self.pong("files").await;
        until(|| self.gateway.health("files").is_ok()).await;
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

fn files() -> Toolset {
    let path = json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
    Toolset::new("files", "1.0.0").tools([RemoteTool::new("read", "Reads a file.", path)])
}

/// Waits until a condition holds, with a clock that does not wait.
async fn until(holds: impl Fn() -> bool) {
    let polling = async {
        while !holds() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(Duration::from_mins(2), polling).await.expect("the condition holds within two minutes");
}

/// Returns all entries of a stream.
async fn entries(streams: &MemoryTransport, stream: &str) -> Vec<Entry> {
    streams.read(stream, None, usize::MAX, NOW).await.expect("readable")
}

/// Returns the messages of the request stream of a toolset.
async fn requests(streams: &MemoryTransport, toolset: &str) -> Vec<ToolCallMessage> {
    let entries = entries(streams, &toolset_stream(toolset)).await;
    let read = |entry: Entry| serde_json::from_slice(&entry.payload).expect("a message");
    entries.into_iter().map(read).collect()
}

/// Returns the number of pings that a toolset got.
async fn pings(streams: &MemoryTransport, toolset: &str) -> usize {
    let is_ping = |message: &&ToolCallMessage| matches!(message, ToolCallMessage::Ping { .. });
    requests(streams, toolset).await.iter().filter(is_ping).count()
}

async fn append(streams: &MemoryTransport, stream: &str, event: &str, payload: impl Into<Vec<u8>>) {
    streams.append(Append::new().entry(stream, event, payload)).await.expect("appended");
}

fn path() -> Value {
    json!({"path": "a.txt"})
}
