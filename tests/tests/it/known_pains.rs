//! What is known to hurt in other integrations of agents with Temporal does not here. A test for each, here or where it belongs:
//!
//! | pain | test |
//! |---|---|
//! | a tool that fails kills the run | here; each way of failing of each binding in `tool_matrix.rs` |
//! | results reach the model as debug text | here |
//! | no approvals for tools that are activities | here; decisions of all kinds in `agent_handlers/` |
//! | the run context is copied into every call | here |
//! | unknown tools and broken JSON kill the run | here |
//! | a server whose list of tools changes breaks replay | `mcp/lists.rs`, `a_run_knows_the_list_it_began_with` |
//! | hundreds of parallel calls stall the worker | `tool_limits/many.rs` |
//! | a large argument or result hangs the run without an error | `tool_limits/sizes.rs`, `limits/sizes.rs` |

use prost::Message;
use rstest::rstest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use temporal_agents::{
    Agent, RunConfig, Runner, Tool, ToolContext, ToolDef, ToolError, agent_handlers, client::AgentHandle,
    run::UnknownTools, tool, wire::DecisionAnswer, workflow::AgentInbox,
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel, FinishedRun,
    environment::activities,
    fake_model::{text, tool_call, tool_calls},
    history,
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

use crate::{
    agent_handlers::support::{last_outputs, state_when_waiting},
    examples::{Cache, histories},
};

const FAILED: &str = "An error occurred while running the tool. Please try again.";

/// A parcel, as tools return it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Parcel {
    to: String,
    grams: Option<u32>,
}

/// Finds a parcel, or fails as its number says.
#[tool(attempts = 1)]
async fn find(number: u32) -> Result<Parcel, ToolError> {
    match number {
        0 => Err(ToolError::failed("the database at 10.0.0.7 is down")),
        1 => panic!("the floor gave way"),
        _ => Ok(Parcel { to: "Ada \"the\" Ätna".to_owned(), grams: None }),
    }
}

/// Sends a parcel, once somebody has said so.
#[tool]
async fn send(number: u32) -> String {
    format!("sent {number}")
}

/// Whose parcels these are.
#[tool]
async fn whose(call: &ToolContext) -> Result<u32, ToolError> {
    Ok(call.run().get("customer")?.unwrap_or_default())
}

/// No arguments.
#[derive(Deserialize, JsonSchema)]
struct Nothing {}

fn clerk() -> Agent {
    let weigh = ToolDef::inline("weigh", "Weighs.", |_: &mut ToolContext, Nothing {}| panic!("the scales broke"));
    Agent::new("clerk")
        .model("gpt-5")
        .tool(find)
        .tool(weigh)
        .tool(send.needs_approval())
        .tool(whose.definition().with_context(["customer"]))
}

/// How much of the run context the tools do not ask for.
const BOOK: usize = 500_000;

#[workflow]
#[derive(Default)]
pub(crate) struct Parcels {
    inbox: AgentInbox,
}

#[agent_handlers]
#[workflow_methods]
impl Parcels {
    #[run(name = "parcels")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, request: String) -> WorkflowResult<String> {
        let config = RunConfig::builder().unknown_tools(UnknownTools::TellModel).max_turns(20).build();
        let runner = Runner::with_config(ctx, config).inbox().context("customer", 7).context("book", "x".repeat(BOOK));
        Ok(runner.run(&clerk(), request).await?.final_output)
    }
}

async fn environment(model: &FakeModel, cache: Cache) -> anyhow::Result<AgentEnvironment> {
    Ok(cache.environment::<Parcels>()?.model(model).agents((clerk,)).start().await?)
}

/// Plays a script to its end; the history replays.
async fn play(model: &FakeModel, cache: Cache) -> anyhow::Result<FinishedRun<String>> {
    let env = environment(model, cache).await?;
    let run = env.run(Parcels::run, "Go.".to_owned()).await?;
    assert_eq!(run.failed_workflow_tasks(), 0);
    histories::<Parcels>(&env, &run.workflow_id).await?;
    env.finish().await?;
    Ok(run)
}

#[rstest]
#[tokio::test]
async fn tools_that_fail_do_not_end_the_run_and_results_are_json(
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let calls = [0, 1, 2].map(|number| ("find", json!({"number": number})));
    let model = FakeModel::script([tool_calls(calls.into_iter().chain([("weigh", json!({}))])), text("done")]);
    assert_eq!(play(&model, cache).await?.output()?, "done");
    let parcel = r#"{"to":"Ada \"the\" Ätna","grams":null}"#;
    assert_eq!(last_outputs(&model), [FAILED, FAILED, parcel, FAILED].map(|text| json!(text)));
    Ok(())
}

#[rstest]
#[tokio::test]
async fn an_activity_tool_waits_for_approval_and_is_not_scheduled_before(
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("send", json!({"number": 5})), text("done")]);
    let env = environment(&model, cache).await?;
    let started = env.start_workflow(Parcels::run, "Go.".to_owned()).await?;
    let id = started.info().workflow_id.clone();
    let agent = AgentHandle::new(env.client(), &*id);
    let asked = state_when_waiting(&agent).await?.interruptions;
    let scheduled = activities(&history::fetch(env.client(), &id, None).await?).len();
    assert_eq!((asked.len(), scheduled), (1, 1), "one question, and the model's call");
    assert_eq!(agent.approve(&*asked[0].id).await?, DecisionAnswer::Accepted);
    let run = env.await_run(&started).await?;
    assert_eq!(run.activities().len(), 3);
    assert_eq!(last_outputs(&model), [json!("sent 5")]);
    histories::<Parcels>(&env, &id).await?;
    env.finish().await?;
    Ok(())
}

#[rstest]
#[tokio::test]
async fn the_run_context_travels_by_the_keys_that_tools_name(
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let turns = (0..5).map(|_| tool_calls([("whose", json!({})), ("find", json!({"number": 2}))]));
    let model = FakeModel::script(turns.chain([text("done")]));
    let run = play(&model, cache).await?;
    let tools = run.activities().into_iter().filter(|activity| activity.activity_type.starts_with("agents.tool."));
    assert_eq!(tools.count(), 10);
    let bytes = run.history.encoded_len();
    assert!(bytes < BOOK / 5, "the context has {BOOK} bytes that nobody asks for, and the history {bytes}");
    assert_eq!(last_outputs(&model)[0], json!("7"));
    Ok(())
}

#[rstest]
#[tokio::test]
async fn unknown_tools_and_broken_json_are_told_to_the_model(
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let calls = [
        ("teleport", json!({"number": 2})),
        ("find", json!("{\"number\": 2")),
        ("find", json!("7")),
        ("find", json!({"number": "two"})),
        ("find", json!({})),
        ("find", json!({"number": 2})),
    ];
    let model = FakeModel::script([tool_calls(calls), text("done")]);
    let run = play(&model, cache).await?;
    let tools = run.activities().into_iter().filter(|activity| activity.activity_type.starts_with("agents.tool."));
    assert_eq!(tools.count(), 1, "nothing runs that does not fit");
    let told: Vec<Value> = last_outputs(&model);
    let parcel = r#"{"to":"Ada \"the\" Ätna","grams":null}"#;
    let expected = [
        FAILED,
        r#"Invalid JSON input for tool find: expected a JSON object: (root): fails type, allowed: "object""#,
        r#"Invalid JSON input for tool find: number: fails type, allowed: "integer""#,
        r#"Invalid JSON input for tool find: number: missing, allowed: "integer""#,
        parcel,
        // What is unknown is told last.
        "Tool 'teleport' not found.",
    ];
    assert_eq!(told, expected.map(|text| json!(text)));
    assert_eq!(run.output()?, "done");
    Ok(())
}
