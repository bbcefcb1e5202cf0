//! The run, session, turn and parent call that tools receive: those of a provider, and a worker's
//! own.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

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
    tool,
    tool::{RemoteToolset, State},
    wire::RemoteTool,
    worker::{ToolProvider, ToolRegistry},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    fake_model::{text, tool_calls},
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

use crate::{PATIENCE, support::EmptySessions};

/// A call as its tool has received it.
#[derive(Clone, Debug)]
struct Received {
    tool: String,
    run: String,
    session: String,
    turn: u32,
    key: String,
    parent: String,
}

#[derive(Clone, Default)]
struct Calls(Arc<Mutex<Vec<Received>>>);

impl Calls {
    fn note(&self, ctx: &ToolContext) -> String {
        let info = ctx.info();
        let [run, key] = [info.run_id(), info.idempotency_key()].map(str::to_owned);
        let [session, parent] = [info.session_id(), info.parent_call_id()].map(|id| id.unwrap_or_default().to_owned());
        let received = Received { tool: info.tool.clone(), run, session, turn: info.turn, key, parent };
        self.0.lock().expect("not poisoned").push(received);
        "noted".to_owned()
    }

    fn take(&self) -> Vec<Received> {
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
    SessionRef::stored("chats", "chat 7")
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

/// Checks the calls of one run.
fn check(calls: &[Received], run: &str) {
    assert!(calls.iter().all(|call| (&*call.run, &*call.session, call.turn) == (run, "chat 7", 1)), "{calls:?}");
    let keys: BTreeSet<&str> = calls.iter().map(|call| &*call.key).collect();
    assert_eq!(keys.len(), 6, "each call has a key of its own: {calls:?}");
    let (outer, inner): (Vec<&Received>, Vec<&Received>) = calls.iter().partition(|call| call.parent.is_empty());
    let names = |calls: &[&Received]| calls.iter().map(|call| call.tool.clone()).collect::<BTreeSet<_>>();
    let all = BTreeSet::from(["far", "near", "nearer"].map(str::to_owned));
    assert_eq!((names(&outer), names(&inner)), (all.clone(), all), "{calls:?}");
    let parents: BTreeSet<&str> = inner.iter().map(|call| &*call.parent).collect();
    assert_eq!(parents.len(), 1, "{calls:?}");
    assert!(parents.is_disjoint(&keys), "the parent is the call of the helper: {calls:?}");
}

#[rstest]
#[tokio::test]
async fn tools_receive_run_session_turn_and_parent_call(#[values(true, false)] has_cache: bool) -> anyhow::Result<()> {
    let (calls, streams) = (Calls::default(), MemoryTransport::new());
    let registry = ToolRegistry::new(Resources::new().state(calls.clone())).register(far)?;
    let provider = ToolProvider::new("demo", registry, streams.clone());
    let serving = tokio::spawn(async move { provider.serve(std::future::pending()).await });
    let durable = model();
    let builder = AgentEnvironment::builder()
        .workflow::<Front>()?
        .agents((front(),))
        .state(calls.clone())
        .session_store("chats", EmptySessions)
        .resources(|resources| resources.tool_streams(streams.clone()))
        .model(&durable);
    let builder = if has_cache { builder } else { builder.without_workflow_cache() };
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
    let resources = Resources::new().model_provider(model()).state(calls.clone()).session_store("chats", EmptySessions);
    let runner =
        InlineRunner::with_config(resources.tool_streams(streams), RunConfig::builder().session(session()).build());
    runner.run(&front(), "Go.").await?;
    let received = calls.take();
    check(&received, &received[0].run);
    serving.abort();
    Ok(())
}

/// Returns the trace of its call.
#[tool]
async fn trace(ctx: &ToolContext) -> String {
    traced(ctx)
}

/// Returns the trace of its call.
#[tool(inline)]
fn trace_inline(ctx: &ToolContext) -> String {
    traced(ctx)
}

fn traced(ctx: &ToolContext) -> String {
    let sent = ctx.info().trace_context();
    let here = Context::current();
    let current = here.span().span_context().clone();
    let baggage = here.baggage().to_string();
    let turn = ctx.info().turn;
    format!(
        "{} {} {} | {} {} {baggage} | {turn}",
        sent.traceparent,
        sent.tracestate,
        sent.baggage,
        current.trace_id(),
        current.span_id()
    )
}

#[rstest]
#[tokio::test]
async fn the_body_of_a_served_call_is_in_the_trace_of_its_caller(
    #[values("trace", "trace_inline")] tool: &str,
) -> anyhow::Result<()> {
    let streams = MemoryTransport::new();
    let registry = ToolRegistry::default().register(trace)?.register(trace_inline)?;
    let provider = ToolProvider::new("demo", registry, streams.clone());
    let serving = tokio::spawn(async move { provider.serve(std::future::pending()).await });
    let (id, span) = ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331");
    let traceparent = format!("00-{id}-{span}-01");
    let call = |id: &str, members: serde_json::Value| {
        let mut call = json!({"type": "call", "tool_use_id": id, "tool": format!("demo.{tool}"), "payload": {}});
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
