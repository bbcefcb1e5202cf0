//! Everything in one process: a Redis server, a provider, and a run that calls it.

use serde_json::json;
use temporal_agents::{remote::transport::RedisTransport, tool::RemoteToolset, wire::RemoteTool, worker::ToolProvider};
use temporal_agents_testing::RedisServer;
use tokio::sync::oneshot;

use super::{run, serve};

/// Shows a call that reports its progress.
pub(super) async fn show() -> anyhow::Result<()> {
    println!("Starting a Redis server ...");
    let server = RedisServer::start().await?;
    println!("Redis {}", server.url());
    let provider = ToolProvider::new("demo", serve::registry()?, RedisTransport::new(&server.url())?);
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = tokio::spawn(async move { provider.serve(async { drop(stopped.await) }).await });
    let listed = serve::registry()?.tools();
    let described = listed.iter().map(|tool| RemoteTool::new(tool.name(), tool.description(), tool.accepts().clone()));
    let tools = RemoteToolset::named("demo").tools(described);
    let arguments = json!({"seconds": 3}).as_object().cloned().unwrap_or_default();
    let call = run::call(tools, RedisTransport::new(&server.url())?, "slow", arguments);
    let outcome = Box::pin(call).await;
    drop(stop);
    serving.await?;
    outcome
}
