//! Traces of runs whose calls a judge decides about, and of calls that child workflows make.

use rstest::rstest;
use serde_json::json;
use temporal_agents::{
    Agent, AgentsPlugin, Resources, RunConfig,
    agent::ChildAgent,
    gate::{Gate, GateMode, JudgeDecision, Judgement, Rule, RuleDecision},
    inline::InlineRunner,
    tool,
    trace::{Otlp, Tracing, export_workflow},
    wire::{AgentRequest, ModelCall},
    workflow::{AgentSet, AgentWorkflow},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    fake_model::{Reply, structured, text, tool_call},
    history,
};
use temporalio_client::{Client, WorkflowTerminateOptions};
use temporalio_common::protos::temporal::api::history::v1::history_event::Attributes;
use tokio::time::timeout;

use super::{
    collector::{Collector, Span, check_conventions, tree},
    traced::{Traced, by_id, replay},
};
use crate::PATIENCE;

/// Looks at a lamp.
#[tool]
async fn lamp() -> String {
    "It is on.".to_owned()
}

fn judge() -> Agent<Judgement> {
    Agent::new("judge").model("judge").output::<Judgement>()
}

fn gate() -> Gate {
    Gate::new(GateMode::Judge).rules([Rule::new("delegate", RuleDecision::Allow)]).judge(&judge())
}

fn helper() -> Agent {
    Agent::new("helper").model("gpt-5")
}

fn lead() -> Agent {
    let elsewhere = helper().as_tool().name("delegate").description("Delegates.").in_child_workflow(ChildAgent::new());
    Agent::new("lead").model("gpt-5").tool(lamp).tool(elsewhere)
}

fn keeper() -> Agent {
    Agent::new("keeper").model("gpt-5").tool(lamp)
}

fn judged() -> AgentSet {
    AgentSet::new((keeper,)).config(RunConfig::builder().gate(gate()).build())
}

fn set() -> AgentSet {
    AgentSet::new((lead, helper))
}

fn answer(call: &ModelCall) -> Reply {
    match (&*call.agent, call.turn) {
        ("judge", _) => structured(&Judgement { decision: JudgeDecision::Allow, reason: String::new() }),
        ("keeper", 1) => tool_call("lamp", json!({})),
        ("lead", 1) => tool_call("delegate", json!({"input": "b"})),
        _ => text("done"),
    }
}

fn model() -> FakeModel {
    FakeModel::function(|call, _| answer(call))
}

/// Returns the id of the child workflow that a workflow has started.
async fn child_of(client: &Client, workflow_id: &str) -> anyhow::Result<String> {
    let history = history::fetch(client, workflow_id, None).await?;
    let started = history.events.into_iter().find_map(|event| match event.attributes {
        Some(Attributes::StartChildWorkflowExecutionInitiatedEventAttributes(child)) => Some(child.workflow_id),
        _ => None,
    });
    started.ok_or_else(|| anyhow::anyhow!("workflow {workflow_id} has started no child"))
}

/// Runs an agent of this set in a workflow; returns its spans, live and from history.
async fn spans(agent: &str, set: fn() -> AgentSet, has_cache: bool) -> anyhow::Result<[Vec<Span>; 2]> {
    let mut collector = Collector::start().await?;
    let url = collector.url.clone();
    let plugin = AgentsPlugin::new(model()).agents((lead, helper, keeper));
    let tracing = |env: &AgentEnvironment| Ok(Tracing::new(env.client(), Otlp::new(&url)?));
    let traced = Traced::start_set(tracing, plugin, set, has_cache).await?;
    traced.run(AgentWorkflow::run, AgentRequest::new(agent, "Go."), "one", None).await?;
    let (client, otlp) = (traced.env.client(), Otlp::new(&collector.url)?);
    let mut count = export_workflow(client, "one", &otlp).await?;
    if agent == "lead" {
        count += export_workflow(client, &child_of(client, "one").await?, &otlp).await?;
        // In any order: the child ends first.
        let mut all = collector.spans(2 * count).await?;
        replay(&traced.env, "one", set).await?;
        traced.env.finish().await?;
        all.sort_by(|one, other| one.id.cmp(&other.id));
        let (live, history) = all.chunks(2).map(|two| (two[0].clone(), two[1].clone())).unzip();
        return Ok([live, history]);
    }
    let spans = [collector.spans(count).await?, collector.spans(count).await?];
    replay(&traced.env, "one", set).await?;
    traced.env.finish().await?;
    Ok(spans)
}

const JUDGED: &str = "
  invoke_agent keeper
    call_model gpt-5
      chat gpt-5
    judge lamp
      invoke_agent judge
        call_model judge
          chat judge
    call_tool lamp
      execute_tool lamp
    call_model gpt-5
      chat gpt-5";

#[rstest]
#[tokio::test]
async fn a_judge_has_a_span_of_its_own_live_and_from_history(
    #[values(true, false)] has_cache: bool,
) -> anyhow::Result<()> {
    let [live, history] = spans("keeper", judged, has_cache).await?;
    check_conventions(&live);
    assert_eq!(tree(&live), format!("invoke_workflow AgentWorkflow{JUDGED}"));
    assert_eq!(by_id(&live), by_id(&history));
    Ok(())
}

#[tokio::test]
async fn a_judge_of_a_run_in_this_process_has_the_same_spans() -> anyhow::Result<()> {
    let mut collector = Collector::start().await?;
    let tracing = Tracing::without_workflows(Otlp::new(&collector.url)?);
    let config = RunConfig::builder().gate(gate()).build();
    let runner = InlineRunner::with_config(Resources::new().model_provider(model()), config).tracer(tracing.tracer());
    runner.run(&keeper(), "Go.").await?;
    tracing.flush().await;
    let spans = collector.spans(12).await?;
    assert_eq!(tree(&spans), format!("invoke_workflow Agent workflow{JUDGED}"));
    Ok(())
}

const DELEGATED: &str = "\
invoke_workflow AgentWorkflow
  invoke_agent lead
    call_model gpt-5
      chat gpt-5
    execute_tool delegate
      invoke_workflow AgentWorkflow
        invoke_agent helper
          call_model gpt-5
            chat gpt-5
    call_model gpt-5
      chat gpt-5";

#[rstest]
#[tokio::test]
async fn a_call_that_a_child_workflow_makes_contains_the_spans_of_the_child(
    #[values(true, false)] has_cache: bool,
) -> anyhow::Result<()> {
    let [live, history] = spans("lead", set, has_cache).await?;
    check_conventions(&live);
    // Each span is within its parent, also in time.
    assert_eq!(tree(&live), DELEGATED);
    assert_eq!(by_id(&live), by_id(&history));
    Ok(())
}

fn waiting_lead() -> Agent {
    let nowhere = ChildAgent::new().task_queue("polled by nobody");
    let elsewhere = helper().as_tool().name("delegate").description("Delegates.").in_child_workflow(nowhere);
    Agent::new("lead").model("gpt-5").tool(elsewhere)
}

#[tokio::test]
async fn an_agent_that_waits_for_a_child_workflow_is_open() -> anyhow::Result<()> {
    let mut collector = Collector::start().await?;
    let set = AgentSet::new((waiting_lead, helper));
    let env = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(set))?
        .agents((waiting_lead, helper))
        .model(&model())
        .start()
        .await?;
    let started = env.start_workflow(AgentWorkflow::run, AgentRequest::new("lead", "Go.")).await?;
    let id = &started.info().workflow_id;
    let begun = async { while child_of(env.client(), id).await.is_err() {} };
    timeout(PATIENCE, begun).await?;
    let count = export_workflow(env.client(), id, &Otlp::new(&collector.url)?).await?;
    let spans = collector.spans(count).await?;
    check_conventions(&spans);
    let is_open = |span: &&Span| span.attributes.get("temporal_agents.open") == Some(&json!(true));
    let open: Vec<&str> = spans.iter().filter(is_open).map(|span| &*span.name).collect();
    assert_eq!(open, ["invoke_workflow AgentWorkflow", "invoke_agent lead"]);
    started.terminate(WorkflowTerminateOptions::default()).await?;
    env.finish().await?;
    Ok(())
}
