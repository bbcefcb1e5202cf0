//! What tools are told of the run that calls them: those of a provider, and a worker's own.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

use futures::future::BoxFuture;
use opentelemetry::{Context, baggage::BaggageExt, trace::TraceContextExt};
use rstest::rstest;
use serde_json::json;
use temporal_agents::{
    Agent, Resources, RunConfig, Runner, ToolContext,
    inline::InlineRunner,
    remote::{
        message::{ToolCallMessage, ToolResultMessage, result_stream, toolset_stream},
        transport::{Append, MemoryTransport, Streams},
    },
    run::SessionRef,
    store::Session,
    tool,
    tool::{BoxError, RemoteToolset, State},
    wire::{Item, RemoteTool},
    worker::{ToolProvider, ToolRegistry},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    fake_model::{text, tool_calls},
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

use crate::PATIENCE;

/// What a call was told: its tool, its run, its session, its turn, its key, and its parent.
type Told = (String, String, String, u32, String, String);

#[derive(Clone, Default)]
struct Calls(Arc<Mutex<Vec<Told>>>);

impl Calls {
    fn note(&self, ctx: &ToolContext) -> String {
        let info = ctx.info();
        let [run, session, key, parent] =
            [info.run_id(), info.session_id(), info.idempotency_key(), info.parent_call_id()].map(str::to_owned);
        let told = (info.tool.clone(), run, session, info.turn, key, parent);
        self.0.lock().expect("not poisoned").push(told);
        "noted".to_owned()
    }

    fn take(&self) -> Vec<Told> {
        std::mem::take(&mut *self.0.lock().expect("not poisoned"))
    }
}

/// Notes its caller, at a provider.
#[tool]
async fn far(ctx: &ToolContext, calls: State<Calls>) -> String {
    calls.note(ctx)
}

/// Notes its caller, in the worker.
#[tool]
async fn near(ctx: &ToolContext, calls: State<Calls>) -> String {
    calls.note(ctx)
}

/// Notes its caller, in the worker.
#[tool]
async fn nearer(ctx: &ToolContext, calls: State<Calls>) -> String {
    calls.note(ctx)
}

/// A store whose sessions are empty.
struct Empty;

impl Session for Empty {
    fn items<'a>(&'a self, _: &'a str, _: Option<u32>) -> BoxFuture<'a, Result<Vec<Item>, BoxError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn add<'a>(&'a self, _: &'a str, _: Vec<Item>, _: &'a str) -> BoxFuture<'a, Result<(), BoxError>> {
        Box::pin(async { Ok(()) })
    }
}

fn front() -> Agent {
    let tools = || RemoteToolset::named("demo").tools([RemoteTool::new("far", "", json!({"type": "object"}))]);
    let helper = Agent::new("helper").model("gpt-5").tools(tools()).tool(near).tool(nearer);
    Agent::new("front").model("gpt-5").tools(tools()).tool(near).tool(nearer).tool(helper.as_tool())
}

fn model() -> FakeModel {
    FakeModel::function(|call, _| match (&*call.agent, call.turn) {
        ("front", 1) => tool_calls([
            ("far", json!({})),
            ("near", json!({})),
            ("nearer", json!({})),
            ("helper", json!({"input": "Look."})),
        ]),
        ("helper", 1) => tool_calls([("far", json!({})), ("near", json!({})), ("nearer", json!({}))]),
        _ => text("done"),
    })
}

fn session() -> SessionRef {
    SessionRef::Stored { store: "chats".to_owned(), session_id: "chat 7".to_owned(), limit: None }
}

#[workflow]
#[derive(Default)]
struct Front;

#[workflow_methods]
impl Front {
    #[run(name = "front")]
    async fn run(ctx: &mut WorkflowContext<Self>, is_batched: bool) -> WorkflowResult<String> {
        let runner = Runner::new(ctx).session(session());
        let runner = if is_batched { runner.batch_tools() } else { runner };
        Ok(runner.run(&front(), "Go.").await?.final_output)
    }
}

/// Checks what the calls of one run were told.
fn check(told: &[Told], run: &str) {
    assert!(told.iter().all(|(_, of, session, turn, ..)| (&**of, &**session, *turn) == (run, "chat 7", 1)), "{told:?}");
    let keys: BTreeSet<&str> = told.iter().map(|(.., key, _)| &**key).collect();
    assert_eq!(keys.len(), 6, "each call has a key of its own: {told:?}");
    let (outer, inner): (Vec<&Told>, Vec<&Told>) = told.iter().partition(|(.., parent)| parent.is_empty());
    let names = |calls: &[&Told]| calls.iter().map(|(tool, ..)| tool.clone()).collect::<BTreeSet<_>>();
    let all = BTreeSet::from(["far", "near", "nearer"].map(str::to_owned));
    assert_eq!((names(&outer), names(&inner)), (all.clone(), all), "{told:?}");
    let parents: BTreeSet<&str> = inner.iter().map(|(.., parent)| &**parent).collect();
    assert_eq!(parents.len(), 1, "{told:?}");
    assert!(parents.is_disjoint(&keys), "the parent is the call of the helper: {told:?}");
}

#[rstest]
#[tokio::test]
async fn tools_are_told_run_session_turn_and_parent_call(#[values(true, false)] cached: bool) -> anyhow::Result<()> {
    let (calls, streams) = (Calls::default(), MemoryTransport::new());
    let registry = ToolRegistry::new(Resources::new().state(calls.clone())).register(far)?;
    let provider = ToolProvider::new("demo", registry, streams.clone());
    let serving = tokio::spawn(async move { provider.serve(std::future::pending()).await });
    let durable = model();
    let builder = AgentEnvironment::builder()
        .workflow::<Front>()?
        .agents((front(),))
        .state(calls.clone())
        .session_store("chats", Empty)
        .resources(|resources| resources.tool_streams(streams.clone()))
        .model(&durable);
    let builder = if cached { builder } else { builder.without_workflow_cache() };
    let env = builder.start().await?;
    for is_batched in [false, true] {
        let finished = env.run(Front::run, is_batched).await?;
        env.replay(&finished.history).await?;
        let batches = finished.activities().iter().filter(|one| one.activity_type == "agents.call_tools").count();
        assert_eq!(batches > 0, is_batched);
        check(&calls.take(), &finished.workflow_id);
        finished.output()?;
    }
    env.finish().await?;
    let resources = Resources::new().model_provider(model()).state(calls.clone()).session_store("chats", Empty);
    let runner =
        InlineRunner::with_config(resources.tool_streams(streams), RunConfig::builder().session(session()).build());
    runner.run(&front(), "Go.").await?;
    let told = calls.take();
    check(&told, &told[0].1);
    serving.abort();
    Ok(())
}

/// Returns the trace of its call.
#[tool]
async fn trace(ctx: &ToolContext) -> String {
    let trace = ctx.info().trace_context();
    let here = Context::current();
    let current = here.span().span_context().clone();
    let baggage = here.baggage().to_string();
    let turn = ctx.info().turn;
    format!(
        "{} {} {} | {} {} {baggage} | {turn}",
        trace.traceparent,
        trace.tracestate,
        trace.baggage,
        current.trace_id(),
        current.span_id()
    )
}

#[tokio::test]
async fn the_body_of_a_served_call_is_in_the_trace_of_its_caller() -> anyhow::Result<()> {
    let streams = MemoryTransport::new();
    let provider = ToolProvider::new("demo", ToolRegistry::default().register(trace)?, streams.clone());
    let serving = tokio::spawn(async move { provider.serve(std::future::pending()).await });
    let (id, span) = ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331");
    let traceparent = format!("00-{id}-{span}-01");
    let call = |id: &str, members: serde_json::Value| {
        let mut call = json!({"type": "call", "tool_use_id": id, "tool": "demo.trace", "payload": {}});
        call.as_object_mut().expect("an object").extend(members.as_object().expect("an object").clone());
        let message: ToolCallMessage = serde_json::from_value(call).expect("a message");
        serde_json::to_vec(&message).expect("JSON")
    };
    let requests = toolset_stream("demo");
    let traced =
        json!({"traceparent": traceparent, "tracestate": "a=b", "baggage": "user=7", "meta": {"turn_id": "3"}});
    let odd = json!({"traceparent": "none", "tracestate": "a=b", "meta": {"turn_id": "third"}});
    let append = Append::new()
        .entry(&*requests, "call", call("c1", traced))
        .entry(&*requests, "call", call("c2", odd))
        .entry(&*requests, "call", call("c3", json!({})));
    streams.append(append).await?;
    let mut answers = Vec::new();
    for id in ["c1", "c2", "c3"] {
        let results = streams.read(&result_stream(id), None, 1, PATIENCE).await?;
        let result: ToolResultMessage = serde_json::from_slice(&results[0].payload)?;
        answers.push(result.result.expect("it succeeded"));
    }
    let (no_trace, no_span) = ("0".repeat(32), "0".repeat(16));
    assert_eq!(answers[0], json!(format!("{traceparent} a=b user=7 | {id} {span} user=7 | 3")));
    assert_eq!(answers[1], json!(format!("none a=b  | {no_trace} {no_span}  | 1")));
    assert_eq!(answers[2], json!(format!("   | {no_trace} {no_span}  | 1")));
    serving.abort();
    Ok(())
}
