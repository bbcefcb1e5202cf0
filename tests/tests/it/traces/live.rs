//! Traces of a worker while its runs happen.

use std::sync::atomic::{AtomicU32, Ordering};

use opentelemetry::{Context, trace::TraceContextExt};
use rstest::rstest;
use serde_json::json;
use temporal_agents::{
    Agent, AgentsPlugin, Runner, ToolError, tool,
    trace::{Otlp, export_workflow},
};
use temporal_agents_testing::{
    FakeModel,
    fake_model::{text, tool_call},
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

use super::{
    collector::{Collector, check_conventions, tree},
    traced::{Traced, by_id},
};
use crate::{
    continuing::{
        Reading as LongReading,
        support::{Job, Limits, pages, reader},
    },
    transcript::archive::{Reading, desk, script},
};

fn go() -> String {
    "Go.".to_owned()
}

#[rstest]
#[tokio::test]
async fn live_spans_are_those_of_history_also_without_a_cache(
    #[values(true, false)] has_cache: bool,
) -> anyhow::Result<()> {
    let mut collector = Collector::start().await?;
    let plugin = AgentsPlugin::new(script()).agent(desk);
    let traced = Traced::start::<Reading>(&collector.url, plugin, has_cache).await?;
    traced.run(Reading::run, go(), "live", None).await?;
    let count = export_workflow(traced.env.client(), "live", &Otlp::new(&collector.url)?).await?;
    let (live, history) = (collector.spans(count).await?, collector.spans(count).await?);
    check_conventions(&live);
    tree(&live);
    assert_eq!(by_id(&live), by_id(&history));
    assert_eq!(traced.tracing.lost(), 0);
    traced.env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn spans_over_grpc_are_those_over_http() -> anyhow::Result<()> {
    let (mut over_grpc, mut over_http) = (Collector::start_grpc().await?, Collector::start().await?);
    let plugin = AgentsPlugin::new(script()).agent(desk);
    let grpc = Otlp::grpc(&over_grpc.url)?;
    let traced = Traced::start_to::<Reading>(grpc.clone(), plugin, true).await?;
    traced.run(Reading::run, go(), "live", None).await?;
    let count = export_workflow(traced.env.client(), "live", &Otlp::new(&over_http.url)?).await?;
    assert_eq!(export_workflow(traced.env.client(), "live", &grpc).await?, count);
    let (live, history, http) =
        (over_grpc.spans(count).await?, over_grpc.spans(count).await?, over_http.spans(count).await?);
    tree(&live);
    assert_eq!(by_id(&live), by_id(&history));
    assert_eq!(history, http);
    assert_eq!(traced.tracing.lost(), 0);
    traced.env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_workflow_that_continues_as_new_is_one_trace() -> anyhow::Result<()> {
    let mut collector = Collector::start().await?;
    let plugin = AgentsPlugin::new(pages(6)).agent(reader);
    let traced = Traced::start::<LongReading>(&collector.url, plugin, true).await?;
    let job = Job { limits: Limits { new_events: 30, ..Limits::default() }, ..Job::default() };
    traced.run(LongReading::run, job, "continued", None).await?;
    let count = export_workflow(traced.env.client(), "continued", &Otlp::new(&collector.url)?).await?;
    let (live, history) = (collector.spans(count).await?, collector.spans(count).await?);
    tree(&live);
    let readers = live.iter().filter(|span| span.name == "invoke_agent reader").count();
    assert!(readers > 1, "one for each execution: {readers}");
    assert_eq!(by_id(&live), by_id(&history));
    traced.env.finish().await?;
    Ok(())
}

static TRIES: AtomicU32 = AtomicU32::new(0);

/// Returns the id of the span in which it runs, at its second attempt.
#[tool(attempts = 2)]
async fn span_here() -> Result<String, ToolError> {
    if TRIES.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) {
        return Err(ToolError::transient("not yet"));
    }
    Ok(Context::current().span().span_context().span_id().to_string())
}

fn seeker() -> Agent {
    Agent::new("seeker").model("gpt-5").tool(span_here)
}

#[workflow]
#[derive(Default)]
pub(crate) struct Seeking;

#[workflow_methods]
impl Seeking {
    #[run(name = "seeking")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, question: String) -> WorkflowResult<String> {
        Ok(Runner::new(ctx).run(&seeker(), question).await?.final_output)
    }
}

#[tokio::test]
async fn the_context_goes_from_the_caller_into_the_code_of_a_tool() -> anyhow::Result<()> {
    let mut collector = Collector::start().await?;
    let reply = || [tool_call("span_here", json!({})), text("done")];
    let model = FakeModel::script(reply().into_iter().chain(reply()));
    let plugin = AgentsPlugin::new(model.clone()).agent(seeker);
    let traced = Traced::start::<Seeking>(&collector.url, plugin, true).await?;
    // Nothing is sent for a caller that does not sample.
    let (trace, span) = ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331");
    traced.run(Seeking::run, go(), "unsampled", Some(&format!("00-1{}-{span}-00", &trace[1..]))).await?;
    traced.run(Seeking::run, go(), "sampled", Some(&format!("00-{trace}-{span}-01"))).await?;
    // The failed attempt is there beside those that history records.
    let count = export_workflow(traced.env.client(), "sampled", &Otlp::new(&collector.url)?).await?;
    let spans = collector.spans(count + 1).await?;
    assert!(spans.iter().all(|span| span.trace == trace), "{spans:#?}");
    let root = spans.iter().find(|span| span.operation() == "invoke_workflow").expect("it is there");
    assert_eq!(root.parent, span);
    tree(&spans);
    let attempts: Vec<_> = spans.iter().filter(|span| span.name == "execute_tool span_here").collect();
    let statuses: Vec<_> = attempts.iter().map(|span| &*span.status).collect();
    assert_eq!(statuses, ["STATUS_CODE_ERROR", "STATUS_CODE_UNSET"]);
    let calls = model.calls();
    let told = calls.last().and_then(|call| call.input.last()?.get("output").cloned());
    assert_eq!(told, Some(json!(attempts[1].id)));
    traced.env.finish().await?;
    Ok(())
}

#[rstest]
#[tokio::test]
async fn a_collector_that_is_down_costs_a_run_nothing_and_is_counted(
    #[values(true, false)] is_grpc: bool,
) -> anyhow::Result<()> {
    let plugin = AgentsPlugin::new(script()).agent(desk);
    let down = "http://127.0.0.1:9";
    let otlp = if is_grpc { Otlp::grpc(down)? } else { Otlp::new(down)? };
    let traced = Traced::start_to::<Reading>(otlp, plugin, true).await?;
    traced.run(Reading::run, go(), "down", None).await?;
    assert!(traced.tracing.lost() > 10, "{:?}", traced.tracing);
    traced.env.finish().await?;
    Ok(())
}
