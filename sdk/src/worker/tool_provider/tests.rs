//! A provider, and callers that wait, give up, or are cancelled, over streams in memory.
//!
//! Bodies of tools run on threads of their own, which a paused clock does not wait for. Where a test
//! waits for one, the clock stands still.

mod ends;
mod once;
mod series;

use std::{
    future::{Future, pending, ready},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures::{FutureExt, future::BoxFuture};
use serde_json::{Map, Value, json};
use temporal_agents_core::{
    tool::{CallInfo, Heartbeat, RunContext, ToolActivityOptions, ToolContext, ToolDef, ToolError},
    wire::remote_call::RemoteTarget,
};
use tokio::{
    sync::{Notify, oneshot},
    task::{JoinHandle, spawn_blocking},
    time::sleep,
};

use crate::{
    Resources,
    remote::{
        ToolTransport,
        message::{RESULT_EVENT, ToolCallMessage, ToolResultMessage, result_stream, toolset_stream},
        transport::{Append, MemoryTransport, Streams},
    },
    worker::{ToolProvider, ToolRegistry},
};

/// The payments of all providers.
#[derive(Default)]
struct Payments {
    /// The keys of the calls that have begun.
    begun: Mutex<Vec<String>>,
    begins: Notify,
    ends: Notify,
    /// Sends a delta, and then tells that it has.
    says: Notify,
    said: Notify,
    is_cancelled: Notify,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Payment {
    waits: bool,
}

impl Payments {
    fn count(&self) -> usize {
        self.begun.lock().expect("not poisoned").len()
    }

    /// Pays at once, or waits until it may end or is cancelled.
    async fn pay(&self, ctx: &ToolContext, waits: bool) -> &'static str {
        self.begun.lock().expect("not poisoned").push(ctx.info().idempotency_key().to_owned());
        self.begins.notify_one();
        if waits {
            let cancelled = async {
                while !ctx.is_cancelled() {
                    sleep(Duration::from_millis(10)).await;
                }
            };
            let speaking = async {
                loop {
                    self.says.notified().await;
                    ctx.output_delta("stdout", "still at it");
                    self.said.notify_one();
                }
            };
            let dropped = WhenDropped(&self.is_cancelled);
            tokio::select! {
                () = self.ends.notified() => std::mem::forget(dropped),
                () = cancelled => drop(dropped),
                () = speaking => {}
            }
        }
        "paid"
    }
}

/// Tells that a body was cancelled, also if it is dropped before it has noticed.
struct WhenDropped<'n>(&'n Notify);

impl Drop for WhenDropped<'_> {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

/// A registry with the tools `pay`, which must not run twice, and `look`, which may.
fn registry(payments: &Arc<Payments>) -> ToolRegistry {
    let tool = |name: &str, idempotent: bool| {
        let payments = Arc::clone(payments);
        let tool = ToolDef::activity(name, "Pays.", move |ctx, Payment { waits }| {
            let payments = Arc::clone(&payments);
            Box::pin(async move { Ok(payments.pay(ctx, waits).await.into()) })
        });
        let start_to_close = Duration::from_hours(48);
        tool.options(ToolActivityOptions { start_to_close, idempotent, ..ToolActivityOptions::default() })
    };
    let registry = ToolRegistry::new(Resources::new()).register(tool("pay", false));
    registry.and_then(|registry| registry.register(tool("look", true))).expect("the tools are valid")
}

fn provider(payments: &Arc<Payments>, streams: &MemoryTransport) -> ToolProvider {
    ToolProvider::new("demo", registry(payments), streams.clone()).drain(Duration::ZERO)
}

/// A task that is aborted when it is dropped.
struct Task(JoinHandle<()>);

impl Task {
    /// Starts a provider, and waits until it would receive calls.
    async fn serve(provider: ToolProvider) -> Self {
        let (ready, is_ready) = oneshot::channel();
        let announce = move || ready.send(()).expect("it is awaited");
        let task = Self(tokio::spawn(async move { provider.serve_with(pending(), announce).await }));
        is_ready.await.expect("it serves");
        task
    }

    /// Kills the provider.
    async fn kill(mut self) {
        self.0.abort();
        let _ = (&mut self.0).await;
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Awaits a future while the clock stands still.
async fn still<T>(future: impl Future<Output = T>) -> T {
    let (release, released) = std::sync::mpsc::channel::<()>();
    let holding = spawn_blocking(move || released.recv().is_ok());
    let output = future.await;
    drop(release);
    holding.await.expect("it does not panic");
    output
}

/// The cancellation of a caller's attempt.
#[derive(Default)]
struct Stop {
    is_cancelled: AtomicBool,
    /// `true` if no later attempt follows.
    is_final: bool,
}

impl Stop {
    fn new(is_final: bool) -> Arc<Self> {
        Arc::new(Self { is_cancelled: AtomicBool::new(false), is_final })
    }

    fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Release);
    }
}

impl Heartbeat for Stop {
    fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Acquire)
    }

    fn is_cancelled_for_good(&self) -> BoxFuture<'_, bool> {
        ready(self.is_final).boxed()
    }
}

/// A call by the activity of a run.
#[derive(Clone)]
struct Call {
    way: ToolTransport,
    key: String,
    tool: &'static str,
    waits: bool,
    timeout: Duration,
}

impl Call {
    fn new(streams: &MemoryTransport, key: &str) -> Self {
        let way = ToolTransport::from_streams(streams.clone());
        Self { way, key: key.to_owned(), tool: "pay", waits: false, timeout: Duration::from_mins(1) }
    }

    /// Makes one attempt, and returns what the model is told.
    ///
    /// # Errors
    /// The attempt has no outcome, and another may follow.
    async fn attempt(&self, number: u32, stop: Arc<Stop>) -> Result<String, ToolError> {
        let target: RemoteTarget = serde_json::from_value(json!({
            "toolset": "demo",
            "tool": self.tool,
            "timeout_seconds": self.timeout.as_secs(),
            "once": self.tool == "pay",
        }))
        .expect("a target");
        let info = CallInfo::new(self.tool, "call", "caller", 1).at_attempt(number).with_idempotency_key(&*self.key);
        let mut ctx = ToolContext::new(info, RunContext::new(Map::new())).with_heartbeat(stop);
        let arguments = json!({"waits": self.waits}).as_object().cloned().expect("an object");
        let body = self.way.body(target);
        match body(&mut ctx, arguments).await {
            Ok(output) => Ok(output.to_text()),
            Err(error) if error.is_transient() => Err(error),
            Err(error) => {
                let failure = error.failure();
                Ok(failure.tell_model.clone().unwrap_or_else(|| failure.message.clone()))
            }
        }
    }

    async fn told(&self) -> String {
        self.attempt(1, Stop::new(true)).await.expect("an outcome")
    }

    /// Makes the call while the clock stands still.
    async fn told_soon(&self) -> String {
        still(self.told()).await
    }
}

/// A request of a caller of another kind, whose result stream exists for `kept`, if it exists.
fn request(id: &str, tool: &str, waits: bool, kept: Option<Duration>) -> Append {
    let message = ToolCallMessage::call(id, format!("demo.{tool}"), json!({"waits": waits}), None);
    let results = result_stream(id);
    let append = match kept {
        Some(kept) => Append::new().entry(&*results, "init", "{}").expire(&*results, kept),
        None => Append::new(),
    };
    append.entry(toolset_stream("demo"), "call", serde_json::to_vec(&message).expect("JSON"))
}

/// Returns the result of a call, if it has one.
async fn result(streams: &MemoryTransport, id: &str) -> Option<Result<Value, String>> {
    let entries = streams.read(&result_stream(id), None, 100, Duration::ZERO).await.expect("readable");
    let entry = entries.into_iter().find(|entry| entry.event == RESULT_EVENT)?;
    let message: ToolResultMessage = serde_json::from_slice(&entry.payload).expect("a result");
    Some(message.error.map_or_else(|| Ok(message.result.unwrap_or_default()), |error| Err(error.code)))
}

/// Waits until a call has a result, while the clock stands still.
async fn result_soon(streams: &MemoryTransport, id: &str) -> Result<Value, String> {
    still(async {
        let mut after = None;
        loop {
            if let Some(result) = result(streams, id).await {
                return result;
            }
            let entries = streams.read(&result_stream(id), after, 100, Duration::from_hours(1)).await;
            after = entries.expect("readable").last().map(|entry| entry.id);
        }
    })
    .await
}
