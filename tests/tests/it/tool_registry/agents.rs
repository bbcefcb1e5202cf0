//! A registry's tools in agents, inline and durable.

use rstest::rstest;
use serde_json::json;
use temporal_agents::{Agent, Resources, Runner, ToolError, inline::InlineRunner, tool, worker::ToolRegistry};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel, RecordedTools,
    environment::ActivityOutcome,
    fake_model::{text, tool_calls},
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

use super::{failures, mcp::kept_list};
use crate::support::{Stock, clerk};

#[workflow]
pub(crate) struct Shop {
    agent: Agent,
}

#[workflow_methods(factory_only)]
impl Shop {
    #[run(name = "shop")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, question: String) -> WorkflowResult<String> {
        let agent = ctx.state(|shop| shop.agent.clone());
        Ok(Runner::new(ctx).run(&agent, question).await?.final_output)
    }
}

/// The clerk's tools, and those of a list that is called by hand; and what was called of them.
fn registry() -> (ToolRegistry, RecordedTools) {
    let recorded = RecordedTools::new(clerk().def().tools.iter().cloned().chain(kept_list()));
    (
        ToolRegistry::new(Resources::new().state(Stock(3)))
            .register_all(recorded.tools())
            .expect("four tools of four names"),
        recorded,
    )
}

fn script() -> FakeModel {
    FakeModel::script([
        tool_calls([
            ("add", json!({"a": 3, "b": 4})),
            ("papers_read-file", json!({"path": "a.txt"})),
            ("papers_ping", json!({})),
        ]),
        text("done"),
    ])
}

fn called() -> Vec<(String, serde_json::Value)> {
    let call = |name: &str, arguments| (name.to_owned(), arguments);
    vec![
        call("add", json!({"a": 3, "b": 4})),
        call("papers_read-file", json!({"path": "a.txt"})),
        call("papers_ping", json!({})),
    ]
}

fn told(model: &FakeModel) -> Vec<serde_json::Value> {
    let last = model.calls().pop().expect("the model was asked");
    last.input.iter().filter_map(|item| item.get("output").cloned()).collect()
}

#[rstest]
#[tokio::test]
async fn a_registry_and_an_agent_in_a_workflow_share_their_tools(
    #[values(true, false)] cached: bool,
) -> anyhow::Result<()> {
    let ((registry, recorded), model) = (registry(), script());
    let agent: Agent = Agent::new("clerk").model("gpt-5").tools(registry.tools());
    let of_workflow = agent.clone();
    let builder = AgentEnvironment::builder()
        .workflow_with_factory::<Shop, _>(move || Shop { agent: of_workflow.clone() })?
        .model(&model)
        .state(Stock(3))
        .agents((agent,));
    let env = if cached { builder } else { builder.without_workflow_cache() }.start().await?;
    let run = env.run(Shop::run, "Go.".to_owned()).await?;
    let activities: Vec<_> = run.activities().into_iter().map(|one| (one.activity_type, one.outcome)).collect();
    let done = |kind: &str| (kind.to_owned(), ActivityOutcome::Completed);
    let tools = [done("agents.tool.papers_read-file"), done("agents.tool.papers_ping")];
    assert_eq!(activities, [&[done("agents.call_model")], &tools[..], &[done("agents.call_model")]].concat());
    assert_eq!(run.output()?, "done");
    assert_eq!(told(&model), [json!("7"), json!("read file with {\"path\":\"a.txt\"}"), json!("pong")]);
    let by_name = |mut calls: Vec<(String, serde_json::Value)>| {
        calls.sort_by(|one, other| one.0.cmp(&other.0));
        calls
    };
    assert_eq!(by_name(recorded.calls()), by_name(called()), "activities begin in any order, and no replay is told");
    env.finish().await?;
    Ok(())
}

/// Does what a model has asked for, and tells what came of it.
#[tool(attempts = 1)]
async fn chores() -> Result<Vec<String>, ToolError> {
    let (registry, mut told) = (failures::registry(), Vec::new());
    for (name, how) in
        [("fail", "panic"), ("fail", "transient"), ("fail_inline", "hide"), ("lost", ""), ("fail", "fine")]
    {
        told.push(match registry.dispatch(name, json!({"how": how}).to_string()).await {
            Ok(ended) => format!("{}: {}", ended.is_error(), ended.text()),
            Err(error) => error.tell_model().ok_or_else(|| ToolError::failed(error.to_string()))?,
        });
    }
    Ok(told)
}

#[tokio::test]
async fn a_tool_that_fails_never_ends_the_activity_it_is_dispatched_in() -> anyhow::Result<()> {
    let model = FakeModel::script([tool_calls([("chores", json!({}))]), text("done")]);
    let agent: Agent = Agent::new("clerk").model("gpt-5").tool(chores);
    let of_workflow = agent.clone();
    let builder = AgentEnvironment::builder()
        .workflow_with_factory::<Shop, _>(move || Shop { agent: of_workflow.clone() })?
        .model(&model)
        .agents((agent,));
    let env = builder.start().await?;
    let run = env.run(Shop::run, "Go.".to_owned()).await?;
    let mut activities = run.activities().into_iter().map(|one| (one.activity_type, one.attempts, one.outcome));
    let done = ("agents.tool.chores".to_owned(), 1, ActivityOutcome::Completed);
    assert_eq!(activities.find(|(kind, ..)| kind == "agents.tool.chores"), Some(done));
    let failed = "true: An error occurred while running the tool. Please try again.";
    assert_eq!(
        told(&model),
        [json!(json!([failed, failed, failed, "Tool 'lost' not found.", "false: fine"]).to_string())]
    );
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn an_agent_without_temporal_has_them_too() -> anyhow::Result<()> {
    let ((registry, recorded), model) = (registry(), script());
    let agent: Agent = Agent::new("clerk").model("gpt-5").tools(registry.tools());
    let runner = InlineRunner::new(Resources::new().model_provider(model.clone()).state(Stock(3)));
    assert_eq!(runner.run(&agent, "Go.").await?.final_output, "done");
    assert_eq!(told(&model), [json!("7"), json!("read file with {\"path\":\"a.txt\"}"), json!("pong")]);
    assert_eq!(recorded.calls(), called());
    Ok(())
}

#[tokio::test]
async fn several_calls_are_dispatched_in_their_order() -> anyhow::Result<()> {
    let (registry, recorded) = registry();
    let mut told = Vec::new();
    for (name, arguments) in called() {
        told.push(registry.dispatch(&name, arguments.to_string()).await?.text());
    }
    assert_eq!(told, ["7", "read file with {\"path\":\"a.txt\"}", "pong"]);
    assert_eq!(recorded.calls(), called());
    Ok(())
}

#[test]
fn a_provider_is_shown_what_the_agent_would_show_it() {
    let (registry, _) = registry();
    let names = ["stock_of", "add", "papers_read-file", "papers_ping"];
    let shown = |tools: Vec<serde_json::Value>, name: fn(&serde_json::Value) -> &serde_json::Value| {
        tools.iter().map(|tool| name(tool).as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(shown(registry.to_openai(), |tool| &tool["function"]["name"]), names);
    assert_eq!(shown(registry.to_openai_responses(), |tool| &tool["name"]), names);
    assert_eq!(shown(registry.to_anthropic(), |tool| &tool["name"]), names);
}
