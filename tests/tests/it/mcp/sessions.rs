//! Stateful servers: a session for each run, on one worker, and what becomes of a run that loses it.

use std::time::Duration;

use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{
    Agent, AgentsPlugin, Resources, Runner,
    inline::InlineRunner,
    mcp::McpTransport,
    tool::{McpServer, McpSessionOptions, McpSessionRecovery, OnToolError, ToolActivityOptions, ToolFailureKind},
    worker::InstallIssue,
    worker_env,
    workflow::ModelActivityOptions,
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    environment::{ActivityOutcome, AgentEnvironmentBuilder},
    fake_model::{text, tool_call, tool_calls},
};
use temporalio_client::WorkflowCancelOptions;
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkerOptions, WorkflowContext, WorkflowResult};

use super::{
    python::stdio,
    secrets::{NAME, holds, value},
    support::{activities, done, ended, kill, outputs, process_in, smith},
};
use crate::held_model::HeldModel;

const OPEN: &str = "agents.mcp.workshop.open_session";
const LIST: &str = "agents.mcp.workshop.list_tools";
const CALL: &str = "agents.mcp.workshop.call_tool";
const CLOSE: &str = "agents.mcp.workshop.close_session";
const MODEL: &str = "agents.call_model";

/// Its model calls are missed soon when their worker is gone.
#[workflow]
pub(crate) struct Shop {
    agent: Agent,
}

#[workflow_methods(factory_only)]
impl Shop {
    #[run(name = "shop")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, question: String) -> WorkflowResult<String> {
        let agent = ctx.state(|shop| shop.agent.clone());
        let options = ModelActivityOptions::builder().heartbeat(Duration::from_secs(1)).build();
        Ok(Runner::new(ctx).model_activity(options).run(&agent, question).await?.final_output)
    }
}

fn terms() -> McpSessionOptions {
    McpSessionOptions::new().schedule_to_start_timeout(Duration::from_secs(2))
}

fn replaying() -> McpSessionOptions {
    terms().set_up("login", json!({"user": "Ada", "password": "x"})).reestablish(McpSessionRecovery::ReplaySetup)
}

/// Calls are missed soon, too.
fn server(terms: McpSessionOptions) -> McpServer {
    let options = ToolActivityOptions::builder().heartbeat(Duration::from_secs(1)).build();
    McpServer::named("workshop").stateful(terms).call_options(options)
}

fn environment(agent: &Agent) -> anyhow::Result<AgentEnvironmentBuilder> {
    environment_by(agent, stdio().into())
}

pub(super) fn environment_by(agent: &Agent, transport: McpTransport) -> anyhow::Result<AgentEnvironmentBuilder> {
    let of_workflow = agent.clone();
    Ok(AgentEnvironment::builder()
        .workflow_with_factory::<Shop, _>(move || Shop { agent: of_workflow.clone() })?
        .mcp_server("workshop", transport)
        .agents((agent.clone(),))
        .agents_worker())
}

fn counting() -> FakeModel {
    FakeModel::script([
        tool_calls([("count", json!({})), ("count", json!({}))]),
        tool_call("count", json!({})),
        text("done"),
    ])
}

fn counted() -> Vec<Value> {
    ["1 for Ada", "2 for Ada", "3 for Ada"].map(|text| json!(text)).to_vec()
}

fn failed(kind: &str, failure: &str) -> (String, i32, ActivityOutcome) {
    (kind.to_owned(), 1, ActivityOutcome::Failed(failure.to_owned()))
}

/// One that was never given to a worker.
fn not_taken(kind: &str) -> (String, i32, ActivityOutcome) {
    (kind.to_owned(), 0, ActivityOutcome::Failed("Timeout".to_owned()))
}

#[rstest]
#[tokio::test]
async fn a_run_has_one_session_from_its_set_up_to_its_end(#[values(true, false)] cached: bool) -> anyhow::Result<()> {
    let (model, agent) = (counting(), smith(server(replaying())));
    let builder = environment(&agent)?.model(&model);
    let env = if cached { builder } else { builder.without_workflow_cache() }.start().await?;
    let run = env.run(Shop::run, "Count.".to_owned()).await?;
    assert_eq!(outputs(&model), counted());
    let expected = [OPEN, LIST, MODEL, CALL, CALL, MODEL, CALL, MODEL, CLOSE].map(done);
    assert_eq!(activities(&run), expected);
    assert_eq!(run.output()?, "done");
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn two_runs_have_two_sessions_and_a_plain_server_shares_its_connection() -> anyhow::Result<()> {
    let model =
        FakeModel::function(|call, _| if call.turn == 1 { tool_call("count", json!({})) } else { text("done") });
    let agent = smith(server(replaying()));
    let env = environment(&agent)?.model(&model).start().await?;
    let counts = async |_| {
        env.run(Shop::run, "Count.".to_owned()).await?;
        anyhow::Ok(outputs(&model))
    };
    assert_eq!(
        [counts(1).await?, counts(2).await?],
        [["1 for Ada"], ["1 for Ada"]].map(|told| told.map(Value::from).to_vec())
    );
    env.finish().await?;

    let runner = InlineRunner::new(Resources::new().model_provider(model.clone()).mcp_server("workshop", stdio()));
    let mut told = Vec::new();
    for agent in [smith(McpServer::named("workshop")), smith(server(replaying()))] {
        for _ in 0..2 {
            runner.run(&agent, "Count.").await?;
            told.extend(outputs(&model));
        }
    }
    assert_eq!(told, ["1 for nobody", "2 for nobody", "1 for Ada", "1 for Ada"].map(Value::from));
    Ok(())
}

#[tokio::test]
async fn a_session_ends_with_a_run_that_fails() -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("pid", json!({})), tool_call("no_such_tool", json!({}))]);
    let agent = smith(server(terms()));
    let env = environment(&agent)?.model(&model).start().await?;
    let run = env.run(Shop::run, "Count.".to_owned()).await?;
    let pid: i32 =
        model.calls()[1].input.iter().find_map(|item| item.get("output")?.as_str()?.parse().ok()).expect("a pid");
    ended(pid).await?;
    assert_eq!(activities(&run).pop(), Some(done(CLOSE)));
    assert!(run.output().is_err());
    env.finish().await?;
    Ok(())
}

#[rstest]
#[tokio::test]
async fn a_session_ends_with_a_run_that_is_cancelled(#[values(true, false)] cached: bool) -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("pid");
    let model = FakeModel::script([tool_call("note_pid", json!({"file": file}))]);
    let (held, agent) = (HeldModel::new(&model), smith(server(terms())));
    let builder = environment(&agent)?.model_provider(held.clone());
    let env = if cached { builder } else { builder.without_workflow_cache() }.start().await?;
    let handle = env.start_workflow(Shop::run, "Count.".to_owned()).await?;
    held.answer();
    let pid = process_in(&file).await?;
    held.asked().await?;
    held.asked().await?;
    handle.cancel(WorkflowCancelOptions::default()).await?;
    let run = env.await_run(&handle).await?;
    ended(pid).await?;
    assert_eq!(activities(&run).pop(), Some(done(CLOSE)));
    assert!(run.output().is_err());
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn an_agent_used_as_a_tool_has_sessions_of_its_own() -> anyhow::Result<()> {
    let model = FakeModel::function(|call, _| match (&*call.agent, call.turn) {
        ("smith", 1 | 3) | ("apprentice", 1) => tool_call("count", json!({})),
        ("smith", 2) => tool_call("apprentice", json!({"input": "Count."})),
        ("apprentice", _) => text(call.input.iter().find_map(|item| item.get("output")?.as_str()).unwrap_or_default()),
        _ => text("done"),
    });
    let apprentice: Agent = Agent::new("apprentice").model("gpt-5").mcp_server(server(terms()));
    let agent = smith(server(replaying())).tool(apprentice.as_tool().description("Counts, too."));
    let env = environment(&agent)?.model(&model).start().await?;
    let run = env.run(Shop::run, "Count.".to_owned()).await?;
    assert_eq!(outputs(&model), ["1 for Ada", "1 for nobody", "2 for Ada"].map(Value::from));
    let of_sessions: Vec<_> =
        activities(&run).into_iter().filter(|(kind, _, _)| [OPEN, CLOSE].contains(&&**kind)).collect();
    assert_eq!(of_sessions, [OPEN, OPEN, CLOSE, CLOSE].map(done));
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_session_that_nobody_uses_is_closed_and_lost() -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("pid");
    let note = tool_call("note_pid", json!({"file": file}));
    let model = FakeModel::script([note, tool_call("count", json!({})), text("done")]);
    let (held, agent) = (HeldModel::new(&model), smith(server(replaying().idle_timeout(Duration::from_secs(1)))));
    let env = environment(&agent)?.model_provider(held.clone()).start().await?;
    let handle = env.start_workflow(Shop::run, "Count.".to_owned()).await?;
    held.answer();
    ended(process_in(&file).await?).await?;
    held.answer();
    held.answer();
    let run = env.await_run(&handle).await?;
    assert_eq!(outputs(&model), ["noted", "1 for Ada"].map(Value::from));
    let of_server: Vec<_> = activities(&run).into_iter().filter(|(kind, _, _)| kind != MODEL).collect();
    let lost = failed(CALL, "McpError.SessionLost");
    assert_eq!(of_server, [done(OPEN), done(LIST), done(CALL), lost, done(OPEN), done(CALL), done(CLOSE)]);
    env.finish().await?;
    Ok(())
}

/// How a worker ends.
#[derive(Clone, Copy, Debug)]
enum End {
    Deploy,
    Crash,
}

/// Plays a run whose worker ends between its first call and its second.
async fn between_calls(
    agent: &Agent,
    model: &FakeModel,
    end: End,
    cached: bool,
) -> anyhow::Result<temporal_agents_testing::environment::FinishedRun<String>> {
    let held = HeldModel::new(model);
    let builder = environment(agent)?.model_provider(held.clone());
    let mut env = if cached { builder } else { builder.without_workflow_cache() }.start().await?;
    let handle = env.start_workflow(Shop::run, "Count.".to_owned()).await?;
    held.answer();
    held.asked().await?;
    held.asked().await?;
    match end {
        End::Deploy => env.stop_worker().await?,
        End::Crash => env.kill_worker().await?,
    }
    env.start_worker()?;
    held.asked().await?;
    for _ in 0..3 {
        held.answer();
    }
    let run = env.await_run(&handle).await?;
    env.finish().await?;
    Ok(run)
}

fn counting_twice() -> FakeModel {
    FakeModel::script([tool_call("count", json!({})), tool_call("count", json!({})), text("done")])
}

#[rstest]
#[case::deploy_cached(End::Deploy, true)]
#[case::deploy(End::Deploy, false)]
#[case::crash(End::Crash, false)]
#[tokio::test]
async fn a_session_whose_worker_ended_is_opened_on_another_one(
    #[case] end: End,
    #[case] cached: bool,
) -> anyhow::Result<()> {
    let (model, agent) = (counting_twice(), smith(server(replaying())));
    let run = between_calls(&agent, &model, end, cached).await?;
    // The set-up is made anew, and what the calls had made of the state is gone.
    assert_eq!(outputs(&model), ["1 for Ada", "1 for Ada"].map(Value::from));
    let of_server: Vec<_> = activities(&run).into_iter().filter(|(kind, _, _)| kind != MODEL).collect();
    assert_eq!(of_server, [done(OPEN), done(LIST), done(CALL), not_taken(CALL), done(OPEN), done(CALL), done(CLOSE)]);
    assert_eq!(run.output()?, "done");
    Ok(())
}

#[tokio::test]
async fn a_run_that_loses_its_session_ends_with_an_error_that_says_so() -> anyhow::Result<()> {
    let (model, agent) = (counting_twice(), smith(server(terms())));
    let run = between_calls(&agent, &model, End::Deploy, false).await?;
    let (kind, message) = run.failure_chain().into_iter().next().expect("the run failed");
    let expected = "the call of tool \"count\" by agent \"smith\" at turn 2 failed: \
                    the session with MCP server \"workshop\" was lost: activity ScheduleToStart timeout";
    assert_eq!((&*kind, message.contains(expected)), ("AgentsWorkflowError", true), "{message}");
    Ok(())
}

#[tokio::test]
async fn a_model_that_is_told_goes_on_in_a_new_session() -> anyhow::Result<()> {
    let model = FakeModel::script([
        tool_call("count", json!({})),
        tool_call("count", json!({})),
        tool_call("count", json!({})),
        text("done"),
    ]);
    let tell = OnToolError::by_kind(|_call, failure| {
        (failure.kind == ToolFailureKind::SessionLost).then(|| "The counter is back at 0.".to_owned())
    });
    let agent = smith(server(terms()).on_error(tell));
    let run = between_calls(&agent, &model, End::Deploy, false).await?;
    assert_eq!(outputs(&model), ["1 for nobody", "The counter is back at 0.", "1 for nobody"].map(Value::from));
    assert_eq!(run.output()?, "done");
    Ok(())
}

#[rstest]
#[case::repeatable("hang", "recovered")]
#[case::once("hang_once", "The tool call was interrupted. It is not known whether it took effect. Do not repeat it.")]
#[tokio::test]
async fn a_call_whose_worker_crashes_is_made_again_only_where_that_is_harmless(
    #[case] tool: &str,
    #[case] told: &str,
) -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("pid");
    let model =
        FakeModel::script([tool_call(tool, json!({"file": file})), tool_call("count", json!({})), text("done")]);
    let agent = smith(server(replaying()));
    let mut env = environment(&agent)?.without_workflow_cache().model(&model).start().await?;
    let handle = env.start_workflow(Shop::run, "Count.".to_owned()).await?;
    process_in(&file).await?;
    env.kill_worker().await?;
    env.start_worker()?;
    let run = env.await_run(&handle).await?;
    assert_eq!(outputs(&model), [told, "1 for Ada"].map(Value::from));
    assert_eq!(run.output()?, "done");
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_server_that_dies_takes_the_session_with_it() -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("pid");
    let script =
        || FakeModel::script([tool_call("hang", json!({"file": file})), tool_call("count", json!({})), text("done")]);
    let (model, agent) = (script(), smith(server(replaying())));
    let env = environment(&agent)?.model(&model).start().await?;
    let handle = env.start_workflow(Shop::run, "Count.".to_owned()).await?;
    kill(process_in(&file).await?);
    let run = env.await_run(&handle).await?;
    assert_eq!(outputs(&model), ["recovered", "1 for Ada"].map(Value::from));
    let calls: Vec<_> = activities(&run).into_iter().filter(|(kind, _, _)| kind == CALL).collect();
    assert_eq!(calls, [failed(CALL, "McpError.SessionLost"), done(CALL), done(CALL)]);
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_set_up_may_refer_to_a_secret_and_its_refusal_does_not_tell_it() -> anyhow::Result<()> {
    let password = worker_env!("CARGO_PKG_DESCRIPTION");
    let terms = terms().set_up("login", json!({"user": "Ada", "password": password}));
    let agent = smith(server(terms));
    let model = FakeModel::script([tool_call("count", json!({})), text("done")]);
    let transport = stdio().env("WORKSHOP_PASSWORD", value()).into();
    let builder = environment_by(&agent, transport)?.model(&model);
    let env = builder.resources(|resources| resources.allow_env([NAME])).start().await?;
    let run = env.run(Shop::run, "Count.".to_owned()).await?;
    assert_eq!(outputs(&model), ["1 for Ada"].map(Value::from));
    assert_eq!(["$worker_env", &*value()].map(|text| holds(&run.history, text)), [true, false]);
    env.finish().await?;

    let transport = stdio().env("WORKSHOP_PASSWORD", "another").into();
    let builder = environment_by(&agent, transport)?.model_provider(FakeModel::script([]));
    let env = builder.resources(|resources| resources.allow_env([NAME])).start().await?;
    let run = env.run(Shop::run, "Count.".to_owned()).await?;
    let message = run.failure_chain().into_iter().next().expect("the run failed").1;
    let refused = "refuses \"login\", a set-up call of the session: Error executing tool login: [redacted] is not the \
                   password of Ada";
    assert!(message.contains(refused), "{message}");
    assert!(!holds(&run.history, &value()));
    env.finish().await?;
    Ok(())
}

#[test]
fn a_plain_worker_refuses_agents_with_sessions_and_names_the_other_one() {
    let plugin = AgentsPlugin::new(Resources::new().mcp_server("workshop", stdio()))
        .without_models()
        .agents((smith(server(terms())),));
    let issues = plugin.install(&mut WorkerOptions::new("agents").build()).unwrap_err().issues;
    let (agent, server) = ("smith".to_owned(), "workshop".to_owned());
    assert_eq!(issues, [InstallIssue::StatefulMcpServer { agent, server }]);
    assert!(issues[0].to_string().contains("AgentsWorker::new"), "{}", issues[0]);
}
