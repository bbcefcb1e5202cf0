//! A provider and gateways over streams in memory, which lose everything.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use temporal_agents_core::{tool::ToolDef, wire::RemoteTool};
use tokio::{
    sync::Notify,
    task::JoinHandle,
    time::{resume, sleep, timeout},
};

use crate::{
    Resources,
    remote::{
        gateway::{Gateway, GatewayError, RegistrationError, Toolset},
        message::ToolResultMessage,
        transport::MemoryTransport,
    },
    worker::{ToolProvider, ToolRegistry},
};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Text {
    text: String,
}

fn registry() -> ToolRegistry {
    let echo = ToolDef::inline("echo", "Returns its text.", |_ctx, Text { text }| Ok(text.into()));
    ToolRegistry::new(Resources::new()).register(echo).expect("the tool is valid")
}

fn provider(streams: &MemoryTransport, registry: ToolRegistry) -> ToolProvider {
    let provider = ToolProvider::new("demo", registry, streams.clone()).drain(Duration::ZERO);
    provider.registered(Toolset::new("demo", "1.0.0").tags(["test"])).expect("the toolset is valid")
}

/// Tasks that end when they are dropped.
struct Tasks(Vec<JoinHandle<()>>);

impl Drop for Tasks {
    fn drop(&mut self) {
        self.0.iter().for_each(JoinHandle::abort);
    }
}

fn serve(gateway: &Gateway) -> JoinHandle<()> {
    let gateway = gateway.clone();
    tokio::spawn(async move { gateway.serve(std::future::pending()).await })
}

fn offer(provider: ToolProvider) -> JoinHandle<()> {
    tokio::spawn(async move { provider.serve(std::future::pending()).await })
}

async fn healthy(gateway: &Gateway) {
    let polling = async {
        while gateway.health("demo").is_err() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(Duration::from_secs(45), polling).await.expect("it is healthy within 45 s");
}

async fn echoed(gateway: &Gateway) -> Result<Option<Value>, GatewayError> {
    let id = gateway.call("demo", "echo", json!({"text": "hello"})).await?;
    let result = gateway.result(&id, Duration::from_mins(10)).await?;
    let result: ToolResultMessage = serde_json::from_slice(&result).expect("a result");
    assert_eq!((result.tool_use_id, result.error), (id, None));
    Ok(result.result)
}

#[tokio::test(start_paused = true)]
async fn a_provider_registers_the_tools_of_its_registry_and_answers_pings() -> Result<(), GatewayError> {
    let streams = MemoryTransport::new();
    let gateway = Gateway::new(streams.clone());
    let _tasks = Tasks(vec![offer(provider(&streams, registry())), serve(&gateway)]);
    healthy(&gateway).await;
    assert_eq!(echoed(&gateway).await?, Some(json!("hello")));
    sleep(Duration::from_mins(10)).await;
    assert_eq!(echoed(&gateway).await?, Some(json!("hello")), "pongs keep it healthy");
    let catalogue = gateway.catalogue();
    let demo = catalogue.get("demo").expect("it is registered");
    let tool = registry().get("echo").map(|echo| {
        let described = RemoteTool::new("echo", "Returns its text.", echo.accepts().clone());
        if echo.is_idempotent() { described.idempotent() } else { described }
    });
    assert_eq!((&demo.tags, demo.tools.first()), (&vec!["test".to_owned()], tool.as_ref()));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn everything_heals_after_the_streams_have_lost_all() -> Result<(), GatewayError> {
    let streams = MemoryTransport::new();
    let old = Gateway::new(streams.clone());
    let mut tasks = Tasks(vec![offer(provider(&streams, registry())), serve(&old)]);
    healthy(&old).await;
    for _ in 0..3 {
        streams.clear();
        // The group of providers is created again at once, the registration within 30 s.
        let new = Gateway::new(streams.clone());
        tasks.0.push(serve(&new));
        healthy(&new).await;
        assert_eq!(echoed(&new).await?, Some(json!("hello")));
        assert_eq!(echoed(&old).await?, Some(json!("hello")));
        sleep(Duration::from_secs(7)).await;
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_toolset_whose_provider_is_lost_is_unhealthy_and_another_provider_restores_it() {
    let streams = MemoryTransport::new();
    let gateway = Gateway::new(streams.clone());
    let first = offer(provider(&streams, registry()));
    let mut tasks = Tasks(vec![serve(&gateway)]);
    healthy(&gateway).await;
    first.abort();
    sleep(Duration::from_secs(51)).await;
    assert!(matches!(gateway.health("demo"), Err(GatewayError::Unhealthy { last_pong: Some(_), .. })));
    tasks.0.push(offer(provider(&streams, registry())));
    healthy(&gateway).await;
}

#[tokio::test(start_paused = true)]
async fn a_provider_whose_calls_are_all_in_progress_stays_healthy() {
    let (streams, gate) = (MemoryTransport::new(), Arc::new(Notify::new()));
    let of_tool = Arc::clone(&gate);
    let held = ToolDef::activity("held", "Waits.", move |_ctx, Text { text }| {
        let gate = Arc::clone(&of_tool);
        Box::pin(async move {
            gate.notified().await;
            Ok(text.into())
        })
    });
    let registry = ToolRegistry::new(Resources::new()).register(held).expect("the tool is valid");
    let gateway = Gateway::new(streams.clone());
    let _tasks = Tasks(vec![offer(provider(&streams, registry).concurrency(1)), serve(&gateway)]);
    healthy(&gateway).await;
    let id = gateway.call("demo", "held", json!({"text": "hello"})).await.expect("it is healthy");
    sleep(Duration::from_secs(55)).await;
    assert_eq!(gateway.health("demo"), Ok(()), "it is busy");
    // The body runs on a thread of its own, which a paused clock does not wait for.
    resume();
    gate.notify_one();
    gateway.result(&id, Duration::from_secs(30)).await.expect("it has ended");
}

#[test]
fn a_toolset_of_another_name_or_without_a_version_is_refused() {
    let provider = || ToolProvider::new("demo", registry(), MemoryTransport::new());
    let error = provider().registered(Toolset::new("files", "1.0.0")).expect_err("it has another name");
    let problem = "the provider serves toolset \"demo\"; describe that one".to_owned();
    assert_eq!(error, RegistrationError::Toolset { toolset: "files".to_owned(), problem });
    provider().registered(Toolset::new("demo", "")).expect_err("it has no version");
}
