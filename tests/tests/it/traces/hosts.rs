//! Traces of runs outside of workflows: the spans of a workflow, with drawn ids, or those of an
//! activity.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

use opentelemetry::{
    Context,
    trace::{FutureExt, SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState},
};
use serde_json::json;
use temporal_agents::{
    Agent, AgentsPlugin, Resources, RunConfig,
    agentic_session::AgenticSession,
    client::{AgentRuns, NewRun},
    in_process::InProcessRuns,
    inline::InlineRunner,
    store::SqlStore,
    tool,
    trace::{Otlp, Tracing, export_workflow},
    wire::AgentRequest,
    workflow::AgentSet,
};
use temporal_agents_testing::{
    FakeModel, SessionEnvironment,
    fake_model::{text, tool_call},
};
use temporalio_macros::activities;
use temporalio_sdk::activities::{ActivityContext, ActivityError};
use tokio::time::timeout;

use super::{
    collector::{Collector, Span, tree},
    traced::Traced,
};
use crate::{
    PATIENCE, databases,
    transcript::archive::{Reading, desk, script},
};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const SPAN: &str = "b7ad6b7169203331";

/// The context of a caller.
fn of_caller() -> Context {
    let trace = TraceId::from_hex(TRACE).expect("it is hexadecimal");
    let span = SpanId::from_hex(SPAN).expect("it is hexadecimal");
    let caller = SpanContext::new(trace, span, TraceFlags::SAMPLED, true, TraceState::default());
    Context::new().with_remote_span_context(caller)
}

/// Each span as its parent's name, its own, its status, and the names of its attributes by the
/// conventions.
fn edges(spans: &[Span]) -> Vec<(String, String, String, Vec<String>)> {
    let edge = |span: &Span| {
        let parent = spans.iter().find(|other| other.id == span.parent).map_or("", |parent| &parent.name);
        let names = span.attributes.keys().filter(|name| name.starts_with("gen_ai.") || *name == "error.type");
        let names: BTreeSet<String> = names.cloned().collect();
        (parent.to_owned(), span.name.clone(), span.kind.clone() + &span.status, names.into_iter().collect())
    };
    let mut edges: Vec<_> = spans.iter().map(edge).collect();
    edges.sort();
    edges
}

#[tokio::test]
async fn a_run_in_this_process_has_the_spans_of_a_workflow() -> anyhow::Result<()> {
    let mut collector = Collector::start().await?;
    let traced = Traced::start::<Reading>(&collector.url, AgentsPlugin::new(script()).agent(desk), true).await?;
    traced.run(Reading::run, "Go.".to_owned(), "durable", None).await?;
    let count = export_workflow(traced.env.client(), "durable", &Otlp::new(&collector.url)?).await?;
    let (durable, _) = (collector.spans(count).await?, collector.spans(count).await?);
    traced.env.finish().await?;

    let tracing = Tracing::without_workflows(Otlp::new(&collector.url)?);
    let config = RunConfig::builder().workflow_name("reading").group_id("chat-7").build();
    let runner = InlineRunner::with_config(Resources::new().model_provider(script()), config).tracer(tracing.tracer());
    let desk = desk();
    let running = runner.run(&desk, "Go.").into_future();
    FutureExt::with_context(running, of_caller()).await?;
    tracing.flush().await;
    let local = collector.spans(count).await?;
    tree(&local);
    let without_group = |(parent, name, status, mut names): (String, String, String, Vec<String>)| {
        names.retain(|name| name != "gen_ai.conversation.id");
        (parent, name, status, names)
    };
    let local_edges: Vec<_> = edges(&local).into_iter().map(without_group).collect();
    assert_eq!(local_edges, edges(&durable));
    let root = local.iter().find(|span| span.name == "invoke_workflow reading").expect("it is there");
    assert_eq!((&*root.parent, &*root.trace), (SPAN, TRACE));
    assert_eq!(root.attributes.get("gen_ai.conversation.id"), Some(&json!("chat-7")));
    Ok(())
}

#[tokio::test]
async fn a_run_in_this_process_without_tracing_has_no_spans() -> anyhow::Result<()> {
    let mut collector = Collector::start().await?;
    let tracing = Tracing::without_workflows(Otlp::new(&collector.url)?);
    let runner =
        |config| InlineRunner::with_config(Resources::new().model_provider(script()), config).tracer(tracing.tracer());
    runner(RunConfig::builder().tracing_disabled(true).build()).run(&desk(), "Go.").await?;
    runner(RunConfig::builder().workflow_name("loud").build()).run(&desk(), "Go.").await?;
    tracing.flush().await;
    let spans = collector.spans(10).await?;
    let traces: BTreeSet<&str> = spans.iter().map(|span| &*span.trace).collect();
    assert_eq!(traces.len(), 1, "{spans:#?}");
    assert_eq!(tracing.lost(), 0);
    Ok(())
}

#[tokio::test]
async fn a_request_without_tracing_has_no_spans_as_a_task_of_a_process() -> anyhow::Result<()> {
    let mut collector = Collector::start().await?;
    let tracing = Tracing::without_workflows(Otlp::new(&collector.url)?);
    let database = databases::Kind::Sqlite.create().await?;
    let store = SqlStore::connect(&database.url).await?;
    let model = FakeModel::script([text("One."), text("Two.")]);
    let greeter = || Agent::new("greeter").model("gpt-5");
    let tasks = InProcessRuns::new(store, AgentSet::new((greeter,)), model).tracer(tracing.tracer());
    let runs = AgentRuns::in_process(&tasks);
    let mut rows = database.connect().await?;
    for (ended, id) in [(1_i64, "quiet"), (2, "loud")] {
        let settings = json!({"workflow_name": id, "disabled": id == "quiet"});
        let mut request = AgentRequest::new("greeter", "Hi.");
        request.trace = Some(serde_json::from_value(settings)?);
        runs.start_run(NewRun::new(request).id(id)).await?;
        let count = "SELECT COUNT(*) FROM agents_runs WHERE ended_at IS NOT NULL";
        let all = async {
            while sqlx::query_scalar::<_, i64>(count).fetch_one(&mut rows).await? < ended {
                tokio::task::yield_now().await;
            }
            anyhow::Ok(())
        };
        timeout(PATIENCE, all).await??;
    }
    tracing.flush().await;
    let mut traces = BTreeSet::new();
    loop {
        let span = collector.spans(1).await?.remove(0);
        traces.insert(span.trace);
        assert_ne!(span.name, "invoke_workflow quiet");
        if span.name == "invoke_workflow loud" {
            break;
        }
    }
    assert_eq!(traces.len(), 1);
    Ok(())
}

/// Returns the trace and the id of the current span, and whether it is sampled.
fn here() -> String {
    let context = Context::current();
    let span = context.span().span_context().clone();
    format!("{} {} {}", span.trace_id(), span.span_id(), span.is_sampled())
}

/// Returns the span in which it runs.
#[tool]
async fn place() -> String {
    tokio::task::yield_now().await;
    here()
}

/// Runs agents with a tool, also within an agent as a tool; returns the places of models and tools.
async fn places(tracing: &Tracing, caller: Context) -> anyhow::Result<[BTreeSet<String>; 2]> {
    let of_models = Arc::new(Mutex::new(BTreeSet::new()));
    let seen = Arc::clone(&of_models);
    let model = FakeModel::function(move |call, _| {
        seen.lock().expect("no test panics with it").insert(here());
        match (&*call.agent, call.turn) {
            (_, 1) => tool_call("place", json!({})),
            ("lead", 2) => tool_call("ask", json!({"input": "Where?"})),
            _ => text("done"),
        }
    });
    let helper = Agent::new("helper").model("gpt-5").tool(place);
    let ask = helper.as_tool().name("ask").description("Asks.");
    let lead = Agent::new("lead").model("gpt-5").tool(place).tool(ask);
    let runner = InlineRunner::new(model.clone()).tracer(tracing.tracer());
    FutureExt::with_context(runner.run(&lead, "Go.").into_future(), caller).await?;
    let outputs = model.calls().into_iter().flat_map(|call| call.input).filter_map(|item| {
        let output = item.get("output")?.as_str()?.to_owned();
        (output != "done").then_some(output)
    });
    let of_tools = outputs.collect();
    let of_models = of_models.lock().expect("no test panics with it").clone();
    Ok([of_models, of_tools])
}

#[tokio::test]
async fn code_of_a_tool_and_of_a_provider_runs_in_the_span_of_its_attempt() -> anyhow::Result<()> {
    let mut collector = Collector::start().await?;
    let tracing = Tracing::without_workflows(Otlp::new(&collector.url)?);
    let [of_models, of_tools] = places(&tracing, of_caller()).await?;
    tracing.flush().await;
    let spans = collector.spans(18).await?;
    tree(&spans);
    let of_spans = |name: &str| -> BTreeSet<String> {
        let named = spans.iter().filter(|span| span.name == name);
        named.map(|span| format!("{} {} true", span.trace, span.id)).collect()
    };
    assert_eq!((of_tools.len(), of_tools), (2, of_spans("execute_tool place")));
    assert_eq!((of_models.len(), of_models), (5, of_spans("chat gpt-5")));
    Ok(())
}

#[tokio::test]
async fn code_of_a_run_whose_caller_is_not_sampled_runs_in_the_context_of_the_caller() -> anyhow::Result<()> {
    let tracing = Tracing::without_workflows(Otlp::new("http://127.0.0.1:9")?);
    let (trace, span) = (TraceId::from_hex(TRACE)?, SpanId::from_hex(SPAN)?);
    let caller = SpanContext::new(trace, span, TraceFlags::default(), true, TraceState::default());
    let places = places(&tracing, Context::new().with_remote_span_context(caller)).await?;
    tracing.flush().await;
    let of_caller = BTreeSet::from([format!("{TRACE} {SPAN} false")]);
    assert_eq!(places, [of_caller.clone(), of_caller]);
    assert_eq!(tracing.lost(), 0);
    Ok(())
}

/// Looks at a file.
#[tool]
async fn inspect(path: String) -> String {
    format!("{path} is fine")
}

struct Reviews {
    runner: InlineRunner,
}

#[activities]
impl Reviews {
    #[activity]
    async fn review(self: Arc<Self>, ctx: ActivityContext, diff: String) -> Result<String, ActivityError> {
        let reviewer = Agent::new("reviewer").model("gpt-5-mini").tool(inspect);
        let session = AgenticSession::run(&ctx, async |session| {
            Ok(session.runner(&self.runner).run(&reviewer, diff).await?.final_output)
        });
        FutureExt::with_context(session, of_caller()).await
    }
}

#[tokio::test]
async fn the_attempts_of_a_session_send_the_same_spans() -> anyhow::Result<()> {
    let mut collector = Collector::start().await?;
    let tracing = Tracing::without_workflows(Otlp::new(&collector.url)?);
    let model = FakeModel::function(|call, _| match call.turn {
        1 => tool_call("inspect", json!({"path": "a.rs"})),
        _ => text("all fine"),
    });
    let runner = InlineRunner::new(model).tracer(tracing.tracer());
    let env = SessionEnvironment::new().register_activities(move || Reviews { runner: runner.clone() });
    let first = env.attempt().run(Reviews::review, "a diff".to_owned()).await;
    first.result?;
    tracing.flush().await;
    let spans = collector.spans(8).await?;
    let drawn = "invoke_workflow Agent workflow
  invoke_agent reviewer
    call_model gpt-5-mini
      chat gpt-5-mini
    call_tool inspect
      execute_tool inspect
    call_model gpt-5-mini
      chat gpt-5-mini";
    assert_eq!(tree(&spans), drawn);
    assert!(spans.iter().all(|span| span.attributes.contains_key("temporalWorkflowID")), "{spans:#?}");
    let root = spans.iter().find(|span| span.operation() == "invoke_workflow").expect("it is there");
    assert_eq!((&*root.parent, &*root.trace), (SPAN, TRACE), "the parent is that of the activity's code");
    let ids: BTreeSet<&str> = spans.iter().map(|span| &*span.id).collect();
    let checkpoint = first.checkpoints.last().expect("there are checkpoints");
    env.attempt_from(checkpoint)?.run(Reviews::review, "a diff".to_owned()).await.result?;
    tracing.flush().await;
    let again = collector.spans(3).await?;
    assert!(again.iter().all(|span| span.trace == spans[0].trace && ids.contains(&*span.id)), "{again:#?} {spans:#?}");
    Ok(())
}
