//! Settings of the trace of a run: in the spans that are sent live, in those from history, and in
//! the calls of models.

use std::collections::BTreeSet;

use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{
    Agent, AgentsPlugin, Resources, RunConfig, RunError, Tool, ToolDef,
    agent::ChildAgent,
    inline::InlineRunner,
    run::RunOutcome,
    tool,
    trace::{Otlp, Tracing, export_workflow},
    wire::{AgentRequest, Decision, ModelCall, ModelTracing},
    workflow::{AgentSet, AgentWorkflow, ContinueOptions},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel, ReplayCheck,
    fake_model::{Reply, text, tool_call, tool_calls},
    history,
};
use temporalio_common::protos::temporal::api::history::v1::history_event::Attributes;

use super::{
    collector::{Collector, Span},
    traced::{Traced, by_id},
};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

/// Looks at a lamp.
#[tool]
async fn lamp() -> String {
    "It is on.".to_owned()
}

fn helper() -> Agent {
    Agent::new("helper").model("gpt-5").tool(lamp)
}

fn lead() -> Agent {
    let within = helper().as_tool().name("ask").description("Asks.");
    let elsewhere = helper().as_tool().name("delegate").description("Delegates.").in_child_workflow(ChildAgent::new());
    Agent::new("lead").model("gpt-5").tool(within).tool(elsewhere)
}

fn set() -> AgentSet {
    AgentSet::new((lead, helper))
}

/// Continues as new after each turn, and names its workflow.
fn restless() -> AgentSet {
    let config = RunConfig::builder().workflow_name("Library").trace_metadata("tier", "gold").build();
    set().config(config).continue_when(ContinueOptions::builder().new_events(0).build())
}

fn answer(call: &ModelCall) -> Reply {
    match (&*call.agent, call.turn) {
        ("lead", 1) => tool_calls([("ask", json!({"input": "a"})), ("delegate", json!({"input": "b"}))]),
        ("helper", 1) => tool_call("lamp", json!({})),
        _ => text("done"),
    }
}

fn model() -> FakeModel {
    FakeModel::function(|call, _| answer(call))
}

fn plugin(model: &FakeModel) -> AgentsPlugin {
    AgentsPlugin::new(model.clone()).agents((lead, helper))
}

fn request(trace: Value) -> AgentRequest {
    serde_json::from_value(json!({"agent": "lead", "input": "Go.", "trace": trace})).expect("it is a request")
}

fn to(url: &str) -> impl FnOnce(&AgentEnvironment) -> anyhow::Result<Tracing> {
    move |env| Ok(Tracing::new(env.client(), Otlp::new(url)?))
}

/// The id of the child workflow that this one has started, after its history was replayed, also
/// step by step.
async fn child_of(env: &AgentEnvironment, workflow_id: &str, set: fn() -> AgentSet) -> anyhow::Result<String> {
    let history = history::fetch(env.client(), workflow_id, None).await?;
    let replays = ReplayCheck::new().workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(set()))?;
    replays.replay(&history).await?;
    replays.replay_without_cache(&history).await?;
    let child = history.events.into_iter().find_map(|event| match event.attributes? {
        Attributes::StartChildWorkflowExecutionInitiatedEventAttributes(child) => Some(child.workflow_id),
        _ => None,
    });
    Ok(child.unwrap_or_default())
}

fn tracings(model: &FakeModel) -> Vec<Option<ModelTracing>> {
    model.calls().iter().map(|call| call.tracing).collect()
}

fn names_of<'s>(spans: &'s [Span], operation: &str) -> BTreeSet<&'s str> {
    spans.iter().filter(|span| span.operation() == operation).map(|span| &*span.name).collect()
}

#[rstest]
#[tokio::test]
async fn settings_are_in_all_spans_live_and_from_history_and_in_child_workflows(
    #[values(true, false)] has_cache: bool,
) -> anyhow::Result<()> {
    let (mut collector, model) = (Collector::start().await?, model());
    let traced = Traced::start_set(to(&collector.url), plugin(&model), set, has_cache).await?;
    let settings = json!({
        "workflow_name": "Support", "trace_id": format!("trace_{TRACE}"), "group_id": "chat-7",
        "metadata": {"user.id": "ada", "gen_ai.operation.name": "forged", "retries": 3}
    });
    traced.run(AgentWorkflow::run, request(settings), "named", None).await?;
    let (env, otlp) = (&traced.env, Otlp::new(&collector.url)?);
    let child = child_of(env, "named", set).await?;
    let count =
        export_workflow(env.client(), "named", &otlp).await? + export_workflow(env.client(), &child, &otlp).await?;
    let (live, history) = (collector.spans(count).await?, collector.spans(count).await?);
    // The workflow of the agent is below the call that has started it.
    let ids: BTreeSet<&str> = live.iter().map(|span| &*span.id).collect();
    let roots: Vec<&Span> = live.iter().filter(|span| !ids.contains(&*span.parent)).collect();
    assert_eq!(roots.iter().map(|root| &*root.name).collect::<Vec<_>>(), ["invoke_workflow Support"]);
    assert_eq!(by_id(&live), by_id(&history));
    assert_eq!(names_of(&live, "invoke_workflow"), ["invoke_workflow AgentWorkflow", "invoke_workflow Support"].into());
    for span in &live {
        let of = |name: &str| span.attributes.get(name);
        assert_eq!((&*span.trace, of("user.id"), of("retries")), (TRACE, Some(&json!("ada")), Some(&json!(3))));
        assert_ne!(of("gen_ai.operation.name"), None, "{span:?}");
        let operation = of("gen_ai.operation.name").filter(|name| **name != json!("forged"));
        let is_in_conversation = operation.is_some_and(|name| *name != json!("execute_tool"));
        assert_eq!(of("gen_ai.conversation.id"), is_in_conversation.then(|| json!("chat-7")).as_ref(), "{span:?}");
    }
    assert_eq!(tracings(&model), vec![Some(ModelTracing::Enabled); 6]);
    traced.env.finish().await?;
    Ok(())
}

#[rstest]
#[tokio::test]
async fn a_run_without_tracing_has_no_spans_live_or_from_history(
    #[values(true, false)] has_cache: bool,
) -> anyhow::Result<()> {
    let (mut collector, model) = (Collector::start().await?, model());
    let traced = Traced::start_set(to(&collector.url), plugin(&model), set, has_cache).await?;
    traced.run(AgentWorkflow::run, request(json!({"disabled": true})), "quiet", None).await?;
    assert_eq!(tracings(&model), vec![Some(ModelTracing::Disabled); 6]);
    let (env, otlp) = (&traced.env, Otlp::new(&collector.url)?);
    let child = child_of(env, "quiet", set).await?;
    for workflow in ["quiet", &*child] {
        assert_eq!(export_workflow(env.client(), workflow, &otlp).await?, 0, "{workflow}");
    }
    // The first spans that arrive are those of the next run.
    traced.run(AgentWorkflow::run, request(Value::Null), "loud", None).await?;
    let count = export_workflow(env.client(), "loud", &otlp).await?;
    for span in collector.spans(count).await? {
        let of = span.attributes.get("temporalWorkflowID").and_then(Value::as_str).unwrap_or_default();
        assert!(of.starts_with("loud"), "{span:?}");
    }
    assert_eq!(tracings(&model)[6..], [None; 6]);
    traced.env.finish().await?;
    Ok(())
}

#[rstest]
#[tokio::test]
async fn the_trace_of_a_run_goes_on_in_later_executions_and_gives_way_to_that_of_a_caller(
    #[values(true, false)] has_caller: bool,
) -> anyhow::Result<()> {
    let (mut collector, model) = (Collector::start().await?, model());
    let traced = Traced::start_set(to(&collector.url), plugin(&model), restless, true).await?;
    let of_caller = "1111111111111111111111111111aaaa";
    let caller = format!("00-{of_caller}-b7ad6b7169203331-01");
    let fields = [("traceparent", &*caller)];
    let settings = request(json!({"trace_id": TRACE, "metadata": {"part": "story"}}));
    let fields = if has_caller { &fields[..] } else { &[] };
    traced.run_with(AgentWorkflow::run, settings, "moving", fields).await?;
    let (env, otlp) = (&traced.env, Otlp::new(&collector.url)?);
    export_workflow(env.client(), "moving", &otlp).await?;
    let executions = |spans: &[Span]| -> BTreeSet<String> {
        let of_workflow = spans.iter().filter(|span| span.attributes["temporalWorkflowID"] == json!("moving"));
        of_workflow.map(|span| span.attributes["temporalRunID"].to_string()).collect()
    };
    // The child workflow has a span of the same name.
    let is_root = |span: &&Span| {
        span.name == "invoke_workflow Library" && span.attributes["temporalWorkflowID"] == json!("moving")
    };
    // The spans of all executions, live and from history, in any order.
    let mut received: Vec<Span> = Vec::new();
    while executions(&received).len() < 2 || received.iter().all(|span| !is_root(&span)) {
        received.extend(collector.spans(1).await?);
    }
    let expected = if has_caller { of_caller } else { TRACE };
    for span in &received {
        let labels = (span.attributes.get("tier"), span.attributes.get("part"));
        assert_eq!((&*span.trace, labels), (expected, (Some(&json!("gold")), Some(&json!("story")))), "{span:?}");
    }
    let root = received.iter().find(is_root);
    assert_eq!(root.map(|root| root.parent.is_empty()), Some(!has_caller), "{received:#?}");
    traced.env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_run_names_the_collector_of_its_worker_that_receives_its_spans() -> anyhow::Result<()> {
    let (mut own, mut of_team, model) = (Collector::start().await?, Collector::start().await?, model());
    let team = Otlp::with_headers(&of_team.url, [("authorization", "Bearer key")])?;
    let url = own.url.clone();
    let tracing =
        move |env: &AgentEnvironment| Ok(Tracing::new(env.client(), Otlp::new(&url)?).collector("team-a", team));
    let traced = Traced::start_set(tracing, plugin(&model), set, true).await?;
    let (client, to_team) = (traced.env.client().clone(), json!({"tracing": {"collector": "team-a"}}));
    traced.run(AgentWorkflow::run, request(to_team), "of_team", None).await?;
    let exported = export_workflow(&client, "of_team", &Otlp::new(&own.url)?).await?;
    let (theirs, exported) = (of_team.spans(exported).await?, own.spans(exported).await?);
    assert_eq!(theirs[0].trace, exported[0].trace);
    assert_eq!(traced.tracing.lost(), 0);
    let to_nobody = json!({"tracing": {"collector": "nobody"}});
    traced.run(AgentWorkflow::run, request(to_nobody), "of_nobody", None).await?;
    assert!(traced.tracing.lost() > 10, "{:?}", traced.tracing);
    traced.env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_malformed_trace_id_fails_a_run_before_its_first_model_call() -> anyhow::Result<()> {
    let model = model();
    let config = RunConfig::builder().trace_id("trace_1").build();
    let runner = InlineRunner::with_config(Resources::new().model_provider(model.clone()), config);
    let failure = runner.run(&helper(), "Go.").await.expect_err("the id is malformed");
    assert!(matches!(failure.error, RunError::User { .. }), "{failure}");
    assert!(failure.to_string().contains("the trace id \"trace_1\" is not 32 lowercase"), "{failure}");
    assert_eq!(model.calls().len(), 0);
    Ok(())
}

#[tokio::test]
async fn a_resumed_run_keeps_the_settings_that_its_runner_does_not_set() -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("lamp", json!({})), text("done")]);
    let asking: ToolDef = lamp.needs_approval();
    let agent = Agent::new("clerk").model("gpt-5").tool(asking);
    let runner = |config| InlineRunner::with_config(Resources::new().model_provider(model.clone()), config);
    let config = RunConfig::builder().group_id("chat-7").trace_include_sensitive_data(false).build();
    let RunOutcome::Paused(paused) = runner(config).run(&agent, "Go.").until_paused().await? else {
        panic!("the run needs a decision")
    };
    let mut state = paused.state;
    let call_id = state.interruptions()[0].id.clone();
    state.decide(&call_id, Decision::approve())?;
    assert_eq!(json!(state)["trace"], json!({"group_id": "chat-7", "include_sensitive_data": false}));
    let config = RunConfig::builder().workflow_name("Desk").build();
    runner(config).run(&agent, state).await?;
    assert_eq!(tracings(&model), [Some(ModelTracing::EnabledWithoutData); 2]);
    Ok(())
}
