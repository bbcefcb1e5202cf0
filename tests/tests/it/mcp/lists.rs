//! Lists that change while a run is under way.

use rstest::rstest;
use serde_json::json;
use temporal_agents::tool::{McpRefresh, McpServer};
use temporal_agents_testing::{
    FakeModel,
    fake_model::{text, tool_call, tool_calls},
};

use super::support::{By, Workshop, activities, offered, outputs, smith, workshop};

const LIST: &str = "agents.mcp.workshop.list_tools";

#[rstest]
#[tokio::test]
async fn a_run_knows_the_list_it_began_with(
    #[values(By::Stdio, By::Http)] by: By,
    #[values(true, false)] cached: bool,
) -> anyhow::Result<()> {
    let model = FakeModel::script([
        tool_calls([("learn", json!({"name": "plane"})), ("forget", json!({"name": "poem"}))]),
        tool_calls([("poem", json!({})), ("add", json!({"a": 1, "b": 1}))]),
        text("done"),
    ]);
    let (agent, reached) =
        (smith(McpServer::named("workshop").only(["learn", "forget", "poem", "add", "plane"])), by.reach());
    let env = workshop(&agent, &model, reached.transport, cached).await?;
    let run = env.run(Workshop::run, "Work.".to_owned()).await?;
    assert_eq!(activities(&run).iter().filter(|(kind, _, _)| kind == LIST).count(), 1);
    assert_eq!(offered(&model), vec![vec!["add", "poem", "learn", "forget"]; 3]);
    assert_eq!(outputs(&model), [json!("learnt"), json!("forgotten"), json!("Unknown tool: poem"), json!("2")]);
    assert_eq!(run.output()?, "done");
    env.finish().await?;
    Ok(())
}

#[rstest]
#[tokio::test]
async fn a_list_that_is_refreshed_shows_what_is_new_at_the_next_turn(
    #[values(true, false)] cached: bool,
) -> anyhow::Result<()> {
    let model = FakeModel::script([
        tool_calls([("learn", json!({"name": "plane"})), ("forget", json!({"name": "poem"}))]),
        tool_call("plane", json!({})),
        text("done"),
    ]);
    let server = McpServer::named("workshop").refresh(McpRefresh::EachTurn);
    let agent = smith(server.only(["learn", "forget", "poem", "plane"]));
    let env = workshop(&agent, &model, By::Stdio.reach().transport, cached).await?;
    let run = env.run(Workshop::run, "Work.".to_owned()).await?;
    assert_eq!(activities(&run).iter().filter(|(kind, _, _)| kind == LIST).count(), 3);
    assert_eq!(
        offered(&model),
        [vec!["poem", "learn", "forget"], vec!["learn", "forget", "plane"], vec!["learn", "forget", "plane"]]
    );
    assert_eq!(outputs(&model), [json!("learnt"), json!("forgotten"), json!("I can")]);
    env.finish().await?;
    Ok(())
}
