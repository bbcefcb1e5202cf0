//! The lists of a run that continues as new.

use rstest::rstest;
use serde_json::json;
use temporal_agents::{
    tool::{McpRefresh, McpServer},
    wire::AgentRequest,
    workflow::{AgentSet, AgentWorkflow, ContinueOptions},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel, environment,
    fake_model::{text, tool_call, tool_calls},
};

use super::support::{By, offered, outputs, smith};
use crate::continuing::ready_made::histories;

const LIST: &str = "agents.mcp.workshop.list_tools";

/// Runs the smith, whose run continues as new after each turn. Returns the number of lists in each
/// execution.
async fn lists(server: McpServer, model: &FakeModel, cached: bool) -> anyhow::Result<Vec<usize>> {
    let agent = smith(server);
    let set = AgentSet::new((agent.clone(),)).continue_when(ContinueOptions::builder().new_events(0).build());
    let mut builder = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(set))?
        .mcp_server("workshop", By::Stdio.reach().transport)
        .agents((agent,))
        .model(model);
    if !cached {
        builder = builder.without_workflow_cache();
    }
    let env = builder.start().await?;
    let started = env.start_workflow(AgentWorkflow::run, AgentRequest::new("smith", "Work.")).await?;
    env.await_run(&started).await?.output()?;
    let executions = histories(&env, &started.info().workflow_id).await?;
    for execution in &executions {
        env.replay(execution).await?;
    }
    let lists = |history: &_| environment::activities(history).iter().filter(|one| one.activity_type == LIST).count();
    let lists = executions.iter().map(lists).collect();
    env.finish().await?;
    Ok(lists)
}

#[rstest]
#[tokio::test]
async fn a_run_that_continues_as_new_keeps_the_list_it_began_with(
    #[values(true, false)] cached: bool,
) -> anyhow::Result<()> {
    let model = FakeModel::script([
        tool_calls([("learn", json!({"name": "plane"})), ("forget", json!({"name": "poem"}))]),
        tool_call("poem", json!({})),
        text("done"),
    ]);
    let server = McpServer::named("workshop").only(["learn", "forget", "poem", "plane"]);
    assert_eq!(lists(server, &model, cached).await?, [1, 0, 0]);
    assert_eq!(offered(&model), vec![vec!["poem", "learn", "forget"]; 3]);
    assert_eq!(outputs(&model), [json!("learnt"), json!("forgotten"), json!("Unknown tool: poem")]);
    Ok(())
}

#[rstest]
#[tokio::test]
async fn a_list_of_each_turn_replaces_the_one_before(#[values(true, false)] cached: bool) -> anyhow::Result<()> {
    let model = FakeModel::script([
        tool_calls([("learn", json!({"name": "plane"})), ("forget", json!({"name": "poem"}))]),
        tool_call("plane", json!({})),
        text("done"),
    ]);
    let server = McpServer::named("workshop").refresh(McpRefresh::EachTurn);
    let server = server.only(["learn", "forget", "poem", "plane"]);
    assert_eq!(lists(server, &model, cached).await?, [1, 1, 1]);
    assert_eq!(
        offered(&model),
        [vec!["poem", "learn", "forget"], vec!["learn", "forget", "plane"], vec!["learn", "forget", "plane"]]
    );
    Ok(())
}
