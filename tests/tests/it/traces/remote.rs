//! Traces of runs whose tools a provider offers, over a real Redis server.

use opentelemetry::{Context, trace::TraceContextExt};
use rstest::rstest;
use serde_json::json;
use temporal_agents::{
    Agent, AgentsPlugin, Resources, ToolContext,
    remote::transport::{MemoryTransport, RedisTransport},
    tool,
    tool::RemoteToolset,
    trace::{Otlp, Tracing, export_workflow},
    wire::{AgentRequest, RemoteTool},
    worker::{ToolProvider, ToolRegistry},
    workflow::{AgentSet, AgentWorkflow},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel, RedisServer,
    fake_model::{text, tool_call},
};
use temporalio_client::WorkflowStartOptions;

use super::{
    collector::{Collector, tree},
    traced::{Traced, by_id, header_of, replay},
};

/// Returns the span that publishes the call, and the span of its own code.
#[tool]
async fn far_span(ctx: &ToolContext) -> String {
    let sent = ctx.info().trace_context().traceparent.clone();
    let current = Context::current().span().span_context().span_id();
    format!("{sent} {current}")
}

fn caller() -> Agent {
    let tools = [RemoteTool::new("far_span", "", json!({"type": "object"}))];
    Agent::new("caller").model("gpt-5").tools(RemoteToolset::named("demo").tools(tools))
}

fn set() -> AgentSet {
    AgentSet::new((caller,))
}

#[rstest]
#[tokio::test]
async fn the_context_goes_over_redis_into_the_code_of_a_provider(
    #[values(true, false)] has_cache: bool,
) -> anyhow::Result<()> {
    let mut collector = Collector::start().await?;
    let server = RedisServer::start().await?;
    let transport = RedisTransport::new(&server.url())?;
    let provider = ToolProvider::new("demo", ToolRegistry::default().register(far_span)?, transport.clone());
    let serving = tokio::spawn(async move { provider.serve(std::future::pending()).await });
    let model = FakeModel::script([tool_call("far_span", json!({})), text("done")]);
    let plugin =
        AgentsPlugin::new(Resources::new().model_provider(model.clone()).tool_streams(transport)).agent(caller);
    let url = collector.url.clone();
    let tracing = |env: &AgentEnvironment| Ok(Tracing::new(env.client(), Otlp::new(&url)?));
    let traced = Traced::start_set(tracing, plugin, set, has_cache).await?;
    let (trace, span) = ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331");
    let request = AgentRequest::new("caller", "Go.");
    traced.run(AgentWorkflow::run, request, "far", Some(&format!("00-{trace}-{span}-01"))).await?;
    let count = export_workflow(traced.env.client(), "far", &Otlp::new(&collector.url)?).await?;
    let (spans, history) = (collector.spans(count).await?, collector.spans(count).await?);
    tree(&spans);
    assert_eq!(by_id(&spans), by_id(&history));
    let attempt = spans.iter().find(|span| span.name == "execute_tool far_span").expect("it is there");
    let calls = model.calls();
    let told = calls.last().and_then(|call| call.input.last()?.get("output").cloned());
    assert_eq!(told, Some(json!(format!("00-{trace}-{id}-01 {id}", id = attempt.id))));
    replay(&traced.env, "far", set).await?;
    traced.env.finish().await?;
    serving.abort();
    Ok(())
}

#[rstest]
#[tokio::test]
async fn a_providers_call_has_the_callers_trace_without_tracing(
    #[values(true, false)] has_cache: bool,
) -> anyhow::Result<()> {
    let transport = MemoryTransport::new();
    let provider = ToolProvider::new("demo", ToolRegistry::default().register(far_span)?, transport.clone());
    let serving = tokio::spawn(async move { provider.serve(std::future::pending()).await });
    let model = FakeModel::script([tool_call("far_span", json!({})), text("done")]);
    let builder = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(set()))?
        .agents((caller,))
        .resources(|resources| resources.tool_streams(transport))
        .model(&model);
    let env = if has_cache { builder } else { builder.without_workflow_cache() }.start().await?;
    let traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let mut options = WorkflowStartOptions::new(env.task_queue(), "far").build();
    options.header = Some(header_of(&[("traceparent", traceparent)]));
    let started = env.client().start_workflow(AgentWorkflow::run, AgentRequest::new("caller", "Go."), options).await?;
    env.await_run(&started).await?.output()?;
    let told = model.calls().pop().and_then(|call| call.input.last()?.get("output").cloned());
    let told = told.as_ref().and_then(|told| told.as_str()).unwrap_or_default();
    assert!(told.starts_with(traceparent), "{told}");
    env.finish().await?;
    serving.abort();
    Ok(())
}
