//! A worker that lacks one thing, then one that has it: the run waits, and what it waits for is done once.

use std::sync::Arc;

use rstest::rstest;
use serde::{Deserialize, Serialize};
use serde_json::json;
use temporal_agents::{
    Agent, AgentsPlugin, Resources, Runner, ToolError, agent::GuardrailOutput, guardrail, provider::OpenAi,
    run::SessionRef, tool, tool::McpServer,
};
use temporal_agents_testing::{
    FakeModel,
    fake_model::{text, tool_call},
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};
use tokio::sync::Notify;

use super::release::{takes_over, waiting};
use crate::{
    examples::{Cache, histories},
    mcp::support::By,
    stored_sessions::Flaky,
};

/// What the runs use; the worker of the release before has only what is plain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Part {
    Plain,
    LocalTool,
    Guardrail,
    McpServer,
    Session,
}

/// What a part weighs.
#[tool(local)]
async fn weigh(part: String) -> String {
    format!("{part} weighs 3 kg")
}

#[guardrail(input, activity, blocking)]
async fn is_polite(_input: &str) -> Result<GuardrailOutput, ToolError> {
    Ok(GuardrailOutput::pass())
}

fn plain() -> Agent {
    Agent::new("desk").model("gpt-5")
}

fn agent(part: Part) -> Agent {
    match part {
        Part::LocalTool => plain().tool(weigh),
        Part::Guardrail => plain().input_guardrail(is_polite),
        Part::McpServer => plain().mcp_server(McpServer::named("workshop")),
        Part::Plain | Part::Session => plain(),
    }
}

#[workflow]
#[derive(Default)]
struct Errand;

#[workflow_methods]
impl Errand {
    #[run(name = "errand-of-a-release")]
    async fn run(ctx: &mut WorkflowContext<Self>, part: Part) -> WorkflowResult<String> {
        let session = SessionRef::Stored { store: "shop".to_owned(), session_id: "7".to_owned(), limit: None };
        let runner = Runner::new(ctx);
        let runner = if part == Part::Session { runner.session(session) } else { runner };
        Ok(runner.run(&agent(part), "A bolt, please.").await?.final_output)
    }
}

/// Calls each tool that it knows, once.
fn model() -> FakeModel {
    FakeModel::function(|call, _| {
        let is_offered = |name| call.turn == 1 && call.definitions.tools.iter().any(|tool| tool.name() == name);
        match () {
            () if is_offered("weigh") => tool_call("weigh", json!({"part": "bolt"})),
            () if is_offered("add") => tool_call("add", json!({"a": 1, "b": 2})),
            () => text("done"),
        }
    })
}

#[rstest]
#[case::a_local_tool(Part::LocalTool, "tool `weigh`")]
#[case::a_guardrail(Part::Guardrail, "tool `is_polite`")]
#[case::an_mcp_server(Part::McpServer, "MCP server `workshop`")]
#[case::a_session_store(Part::Session, "activity `agents.session.shop`")]
#[tokio::test]
async fn a_run_waits_for_a_worker_that_has(
    #[case] part: Part,
    #[case] missing: &str,
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let model = model();
    let old = AgentsPlugin::new(model.clone()).agents((plain(),));
    let resources = Resources::new()
        .model_provider(model)
        .session_store("shop", Flaky::default())
        .mcp_server("workshop", By::Stdio.reach().transport);
    let new = AgentsPlugin::new(resources).agents((agent(part),));
    let mut env = cache.environment::<Errand>()?.plugin(|_| old).start().await?;
    let handle = env.start_workflow(Errand::run, part).await?;
    let summary = waiting(&env, &handle.info().workflow_id).await?;
    assert_eq!(summary, format!("waiting for a worker that has {missing}"));
    let worker = takes_over::<Errand>(&mut env, new).await?;
    let run = env.await_run(&handle).await?;
    histories::<Errand>(&env, &run.workflow_id).await?;
    assert_eq!(run.output()?, "done");
    drop(worker);
    env.finish().await?;
    Ok(())
}

/// The model's provider is asked by an activity that each worker with a provider has, so that the activity itself waits.
#[rstest]
#[tokio::test]
async fn a_call_waits_for_a_worker_whose_providers_serve_the_model(
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let (model, asked) = (model(), Arc::new(Notify::new()));
    let hears = Arc::clone(&asked);
    let serves_nothing = OpenAi::builder().api_key("key").serving(move |_| {
        hears.notify_one();
        false
    });
    let old = AgentsPlugin::new(serves_nothing.build()?).agents((plain(),));
    let new = AgentsPlugin::new(model.clone()).agents((plain(),));
    let mut env = cache.environment::<Errand>()?.plugin(|_| old).start().await?;
    let handle = env.start_workflow(Errand::run, Part::Plain).await?;
    asked.notified().await;
    let worker = takes_over::<Errand>(&mut env, new).await?;
    let run = env.await_run(&handle).await?;
    histories::<Errand>(&env, &run.workflow_id).await?;
    let attempts: Vec<_> = run.activities().into_iter().map(|activity| activity.attempts).collect();
    assert!(matches!(*attempts, [attempt] if attempt > 1), "{attempts:?}");
    assert_eq!((run.output()?, model.calls().len()), ("done".to_owned(), 1));
    drop(worker);
    env.finish().await?;
    Ok(())
}
