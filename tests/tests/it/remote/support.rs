//! A provider, and runs that call its tools.

use std::{future::Future, sync::Arc, time::Duration};

use serde_json::{Value, json};
use temporal_agents::{
    Agent, Resources, ToolContext, ToolError,
    inline::InlineRunner,
    remote::transport::Streams,
    tool,
    tool::{RemoteToolset, State},
    wire::{AgentRequest, Item, RemoteTool, RunEvent},
    worker::{ConversationCache, HeartbeatDeltas, ToolProvider, ToolRegistry},
    workflow::{AgentSet, AgentWorkflow},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    environment::AgentEnvironmentBuilder,
    fake_model::{text, tool_calls},
};
use tokio::sync::Notify;

/// Gates of the tool `held`: it tells that it has begun, and waits until it may end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gates {
    pub(super) begun: Arc<Notify>,
    pub(super) ends: Arc<Notify>,
    pub(super) calls: Arc<std::sync::Mutex<Vec<String>>>,
}

/// Returns its text.
#[tool]
async fn echo(ctx: &ToolContext, text: String) -> String {
    ctx.output_delta("stdout", format!("echo {text}"));
    text
}

/// Adds two numbers.
#[tool]
async fn add(a: i64, b: i64) -> Value {
    json!({"sum": a + b})
}

/// Fails.
#[tool]
async fn fail(message: String) -> Result<String, ToolError> {
    Err(ToolError::tell_model(message))
}

/// Waits until it may end; must not run twice.
#[tool(idempotent = false)]
async fn held(ctx: &ToolContext, gates: State<Gates>) -> String {
    wait(ctx, &gates).await
}

/// Waits until it may end.
#[tool]
async fn repeatable(ctx: &ToolContext, gates: State<Gates>) -> String {
    wait(ctx, &gates).await
}

async fn wait(ctx: &ToolContext, gates: &Gates) -> String {
    gates.calls.lock().expect("not poisoned").push(ctx.info().idempotency_key().to_owned());
    gates.begun.notify_one();
    gates.ends.notified().await;
    "ended".to_owned()
}

pub(super) fn registry(gates: &Gates) -> ToolRegistry {
    let registry = ToolRegistry::new(Resources::new().state(gates.clone()));
    let registry = registry.register(echo).and_then(|registry| registry.register(add));
    let registry = registry.and_then(|registry| registry.register(fail));
    let registry = registry.and_then(|registry| registry.register(held));
    registry.and_then(|registry| registry.register(repeatable)).expect("the tools are valid")
}

/// A provider with a short lease.
pub(crate) fn provider(gates: &Gates, streams: impl Streams) -> ToolProvider {
    ToolProvider::new("demo", registry(gates), streams).lease(Duration::from_millis(600)).drain(Duration::ZERO)
}

/// The tools of the toolset, as its provider describes them.
pub(super) fn described() -> Vec<RemoteTool> {
    let registry = registry(&Gates::default());
    let describe = |tool: &temporal_agents::ToolDef| {
        let described = RemoteTool::new(tool.name(), tool.description(), tool.accepts().clone());
        if tool.name() == "held" { described } else { described.idempotent() }
    };
    registry.iter().map(describe).collect()
}

/// An agent with these tools of the toolset `demo`.
pub(super) fn caller(toolset: &RemoteToolset, tools: impl IntoIterator<Item = RemoteTool>) -> Agent {
    Agent::new("caller").model("gpt-5").tools(toolset.tools(tools))
}

/// A model that makes these calls at once, and then ends.
pub(super) fn model(calls: &[(&str, Value)]) -> FakeModel {
    FakeModel::script([tool_calls(calls.iter().map(|(name, arguments)| (*name, arguments.clone()))), text("done")])
}

/// What the model was told that its calls gave.
pub(super) fn told(model: &FakeModel) -> Vec<String> {
    let last = model.calls().pop().expect("the model was asked");
    let output = |item: &Item| Some(item.get("output")?.as_str()?.to_owned());
    last.input.iter().filter_map(output).collect()
}

/// An environment whose worker reaches the streams.
pub(super) async fn environment(
    agent: &Agent,
    model: &FakeModel,
    streams: impl Streams,
    cached: bool,
) -> anyhow::Result<AgentEnvironment> {
    let builder = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(AgentSet::new((agent.clone(),))))?
        .agents((agent.clone(),))
        .resources(|resources| resources.tool_streams(streams))
        .plugin(|plugin| plugin.deltas(HeartbeatDeltas::new()))
        .model(model);
    // Without any cache, conversations are rebuilt from history.
    let uncached = |builder: AgentEnvironmentBuilder| {
        builder.without_workflow_cache().conversation_cache(ConversationCache::with_bytes(0))
    };
    Ok(if cached { builder } else { uncached(builder) }.start().await?)
}

/// Runs the agent in a workflow while `meanwhile` happens, and replays its history.
pub(super) async fn run(env: &AgentEnvironment, meanwhile: impl Future<Output = ()>) -> anyhow::Result<()> {
    let run = env.run(AgentWorkflow::run, AgentRequest::new("caller", "Work."));
    let (finished, ()) = tokio::join!(run, meanwhile);
    let finished = finished?;
    env.replay(&finished.history).await?;
    finished.output()?;
    Ok(())
}

/// Runs the agent without Temporal, and returns its events.
pub(super) async fn run_inline(
    agent: &Agent,
    model: &FakeModel,
    streams: impl Streams,
) -> anyhow::Result<Vec<RunEvent>> {
    let events = Arc::new(std::sync::Mutex::new(Vec::new()));
    let of_runner = Arc::clone(&events);
    let runner = InlineRunner::new(Resources::new().model_provider(model.clone()).tool_streams(streams))
        .on_event(move |event: &RunEvent| of_runner.lock().expect("not poisoned").push(event.clone()));
    runner.run(agent, "Work.").await?;
    let events = events.lock().expect("not poisoned").clone();
    Ok(events)
}
