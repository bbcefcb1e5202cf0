//! Calls through a gateway, over a Redis server that loses everything.

use std::time::Duration;

use serde_json::json;
use temporal_agents::{
    Agent, Resources,
    inline::InlineRunner,
    remote::{
        gateway::{Gateway, GatewayError, Toolset},
        message::{ToolCallMeta, ToolResultMessage},
        transport::{MemoryTransport, RedisTransport},
    },
    worker::ToolProvider,
};
use temporal_agents_testing::RedisServer;
use tokio::time::{sleep, timeout};

use super::support::{Gates, model, registry, told};
use crate::PATIENCE;

/// Waits until the toolset is healthy.
async fn healthy(gateway: &Gateway) -> anyhow::Result<()> {
    let polling = async {
        while gateway.health("demo").is_err() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    Ok(timeout(PATIENCE, polling).await?)
}

async fn echoed(gateway: &Gateway, id: &str) -> anyhow::Result<ToolResultMessage> {
    let meta = ToolCallMeta { tool_call_id: id.to_owned(), ..ToolCallMeta::default() };
    let id = gateway.call("demo", "echo", json!({"text": "hello"})).meta(meta).await?;
    Ok(serde_json::from_slice(&gateway.result(&id, PATIENCE).await?)?)
}

#[tokio::test]
async fn a_gateway_calls_a_registered_provider_also_after_redis_has_lost_everything() -> anyhow::Result<()> {
    let mut server = RedisServer::start().await?;
    let streams = RedisTransport::new(&server.url())?;
    let provider = ToolProvider::new("demo", registry(&Gates::default()), streams.clone())
        .registered(Toolset::new("demo", "1.0.0"))?
        .registration_interval(Duration::from_secs(1));
    let providing = tokio::spawn(async move { provider.serve(std::future::pending()).await });
    let mut serving = Vec::new();
    let mut serve = |streams: RedisTransport| {
        let gateway = Gateway::new(streams).ping_interval(Duration::from_secs(2));
        let of_task = gateway.clone();
        serving.push(tokio::spawn(async move { of_task.serve(std::future::pending()).await }));
        gateway
    };
    let old = serve(streams.clone());
    healthy(&old).await?;
    assert_eq!(echoed(&old, "c1").await?, ToolResultMessage::new("c1", json!("hello")));
    let error = old.call("demo", "echo", json!({"text": 1})).await.expect_err("it is a number");
    assert!(matches!(error, GatewayError::InvalidPayload { .. }), "{error}");

    server.restart().await?;
    let new = serve(streams);
    healthy(&new).await?;
    assert_eq!(echoed(&new, "c2").await?, ToolResultMessage::new("c2", json!("hello")));
    healthy(&old).await?;
    assert_eq!(echoed(&old, "c3").await?, ToolResultMessage::new("c3", json!("hello")));
    providing.abort();
    serving.iter().for_each(tokio::task::JoinHandle::abort);
    Ok(())
}

#[tokio::test]
async fn a_run_selects_a_registered_toolset_and_one_that_is_not_there_is_an_error() -> anyhow::Result<()> {
    let streams = MemoryTransport::new();
    let provider = ToolProvider::new("demo", registry(&Gates::default()), streams.clone())
        .registered(Toolset::new("demo", "1.0.0"))?;
    let providing = tokio::spawn(async move { provider.serve(std::future::pending()).await });
    let gateway = Gateway::new(streams.clone()).ping_interval(Duration::from_millis(200));
    let of_task = gateway.clone();
    let serving = tokio::spawn(async move { of_task.serve(std::future::pending()).await });
    healthy(&gateway).await?;
    let model = model(&[("echo", json!({"text": "hello"}))]);
    let resources = Resources::new().model_provider(model.clone()).tool_streams(streams).toolset_source(gateway);
    let runner = InlineRunner::new(resources);
    let agent: Agent = Agent::new("caller").model("gpt-5");
    runner.clone().toolsets(["demo"]).run(&agent, "Work.").await?;
    assert_eq!(told(&model), ["hello"]);
    let failure = runner.toolsets(["demo", "files"]).run(&agent, "Work.").await.expect_err("one is missing");
    assert!(failure.to_string().contains("[\"files\"]"), "{failure}");
    providing.abort();
    serving.abort();
    Ok(())
}
