//! Servers that die, hang, are not there.

use std::time::Duration;

use rstest::rstest;
use serde_json::json;
use temporal_agents::{
    AgentsPlugin, Resources,
    mcp::McpTransport,
    tool::{McpServer, ToolActivityOptions},
    worker::InstallIssue,
};
use temporal_agents_testing::{
    FakeModel,
    environment::ActivityOutcome,
    fake_model::{text, tool_call},
};
use temporalio_sdk::WorkerOptions;

use super::{
    python::HttpServer,
    support::{By, Workshop, activities, environment, kill, outputs, process_in, smith, workshop},
};
use crate::held_model::HeldModel;

const CALL: &str = "agents.mcp.workshop.call_tool";

#[rstest]
#[tokio::test]
async fn a_server_that_is_killed_in_the_middle_of_a_call_is_asked_again(
    #[values(By::Stdio, By::Http)] by: By,
    #[values(true, false)] cached: bool,
) -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("pid");
    let model = FakeModel::script([tool_call("hang", json!({"file": file})), text("done")]);
    let mut reached = by.reach();
    // Over HTTP the new server takes its time to start.
    let options = ToolActivityOptions::builder().attempts(10).build();
    let agent = smith(McpServer::named("workshop").call_options(options));
    let env = workshop(&agent, &model, reached.transport, cached).await?;
    let handle = env.start_workflow(Workshop::run, "Work.".to_owned()).await?;
    kill(process_in(&file).await?);
    let port = reached.http.take().map(|server| server.port);
    let _again = port.map(HttpServer::start_at);
    let run = env.await_run(&handle).await?;
    assert_eq!(outputs(&model), [json!("recovered")]);
    assert_eq!(run.output()?, "done");
    env.finish().await?;
    Ok(())
}

#[rstest]
#[tokio::test]
async fn a_call_that_must_not_be_made_twice_is_not(#[values(By::Stdio, By::Http)] by: By) -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("pid");
    let model = FakeModel::script([
        tool_call("hang_once", json!({"file": file})),
        tool_call("hang_once", json!({"file": file})),
        text("done"),
    ]);
    let mut reached = by.reach();
    let agent = smith(McpServer::named("workshop"));
    let held = HeldModel::new(&model);
    let env = environment(&agent, reached.transport)?.model_provider(held.clone()).start().await?;
    let handle = env.start_workflow(Workshop::run, "Work.".to_owned()).await?;
    held.answer();
    kill(process_in(&file).await?);
    let port = reached.http.take().map(|server| server.port);
    let _again = port.map(HttpServer::start_at);
    held.answer();
    held.answer();
    let run = env.await_run(&handle).await?;
    let unknown = "The tool call was interrupted. It is not known whether it took effect. Do not repeat it.";
    assert_eq!(outputs(&model), [json!(unknown), json!("recovered")]);
    let calls: Vec<_> = activities(&run).into_iter().filter(|(kind, _, _)| kind == CALL).collect();
    let failed = ActivityOutcome::Failed("ToolError".to_owned());
    assert_eq!(calls, [(CALL.to_owned(), 1, failed), (CALL.to_owned(), 1, ActivityOutcome::Completed)]);
    env.finish().await?;
    Ok(())
}

#[rstest]
#[tokio::test]
async fn a_server_that_hangs_is_told_to_the_model_and_asked_on_a_new_connection(
    #[values(By::Stdio, By::Http)] by: By,
) -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("pid");
    let model = FakeModel::script([
        tool_call("hang", json!({"file": file})),
        tool_call("hang", json!({"file": file})),
        text("done"),
    ]);
    let options =
        ToolActivityOptions::builder().start_to_close(Duration::from_secs(3)).heartbeat(Duration::from_secs(1));
    let server = McpServer::named("workshop").call_options(options.attempts(1).build());
    let reached = by.reach();
    let env = workshop(&smith(server), &model, reached.transport.clone(), true).await?;
    let run = env.run(Workshop::run, "Work.".to_owned()).await?;
    assert_eq!(outputs(&model), [json!("Tool 'hang' timed out after 3 seconds."), json!("recovered")]);
    assert_eq!(run.output()?, "done");
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_server_that_does_not_start_ends_the_run_with_its_name() -> anyhow::Result<()> {
    let model = FakeModel::script([]);
    let options = ToolActivityOptions::builder().attempts(2).build();
    let agent = smith(McpServer::named("workshop").list_options(options));
    let nothing = McpTransport::stdio("no-such-program", ["--token=sesame"]);
    let env = workshop(&agent, &model, nothing, true).await?;
    let run = env.run(Workshop::run, "Work.".to_owned()).await?;
    let reason = "McpError.NotReached: MCP server \"workshop\" could not be reached: its program (see the worker's \
                  log) cannot be started: No such file or directory (os error 2)";
    let (kind, message) = run.failure_chain().into_iter().next().expect("the run failed");
    assert_eq!(kind, "AgentsWorkflowError");
    assert_eq!(
        message,
        format!("the tools of MCP server \"workshop\" (agent \"smith\", turn 1) could not be listed: {reason}")
    );
    env.finish().await?;
    Ok(())
}

#[test]
fn a_worker_that_does_not_reach_the_servers_of_its_agents_does_not_start() {
    let mut options = WorkerOptions::new("agents").build();
    let agent = smith(McpServer::named("workshop"));
    let resources = Resources::new().mcp_server("work/shop", McpTransport::stdio("true", [""; 0]));
    let plugin = AgentsPlugin::new(resources).without_models().agents((agent,));
    let missing = InstallIssue::MissingMcpServer { agent: "smith".to_owned(), server: "workshop".to_owned() };
    let name = InstallIssue::McpServerName { server: "work/shop".to_owned() };
    assert_eq!(plugin.install(&mut options).unwrap_err().issues, [missing, name]);
}
