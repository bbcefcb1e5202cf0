//! Tools that are listed and called.

use std::time::Duration;

use rstest::rstest;
use serde_json::json;
use temporal_agents::{Resources, inline::InlineRunner, tool::McpServer};
use temporal_agents_testing::{
    FakeModel,
    environment::ActivityOutcome,
    fake_model::{text, tool_call, tool_calls},
};

use super::support::{By, Workshop, activities, done, ended, outputs, smith, workshop};

const LIST: &str = "agents.mcp.workshop.list_tools";
const CALL: &str = "agents.mcp.workshop.call_tool";
const MODEL: &str = "agents.call_model";

fn script() -> FakeModel {
    FakeModel::script([
        tool_calls([
            ("add", json!({"a": 3, "b": 4})),
            ("weather", json!({"city": "Oslo"})),
            ("poem", json!({})),
            ("picture", json!({})),
            ("broken", json!({})),
            ("add", json!({"a": "three"})),
        ]),
        tool_call("add", json!({"a": 1, "b": 1})),
        text("done"),
    ])
}

fn told() -> Vec<serde_json::Value> {
    vec![
        json!("7"),
        json!("{\n  \"city\": \"Oslo\",\n  \"degrees\": 12\n}"),
        json!("one\ntwo"),
        json!([
            {"type": "input_text", "text": "a dot"},
            {"type": "input_image", "image_url": "data:image/png;base64,aGk="},
        ]),
        json!("Error executing tool broken: the saw is blunt"),
        json!(r#"Invalid JSON input for tool add: a: fails type, allowed: "integer"; b: missing, allowed: "integer""#),
        json!("2"),
    ]
}

#[rstest]
#[tokio::test]
async fn the_tools_of_a_server_are_listed_once_and_called_by_activities(
    #[values(By::Stdio, By::Http)] by: By,
    #[values(true, false)] cached: bool,
) -> anyhow::Result<()> {
    let (model, reached) = (script(), by.reach());
    let agent = smith(McpServer::named("workshop"));
    let env = workshop(&agent, &model, reached.transport, cached).await?;
    let run = env.run(Workshop::run, "Work.".to_owned()).await?;
    let failed = (CALL.to_owned(), 1, ActivityOutcome::Failed("ToolError".to_owned()));
    assert_eq!(
        activities(&run),
        [
            done(LIST),
            done(MODEL),
            done(CALL),
            done(CALL),
            done(CALL),
            done(CALL),
            failed,
            done(MODEL),
            done(CALL),
            done(MODEL)
        ]
    );
    assert_eq!(outputs(&model), told());
    assert_eq!(run.failed_workflow_tasks(), 0);
    assert_eq!(run.output()?, "done");
    env.finish().await?;
    Ok(())
}

#[rstest]
#[tokio::test]
async fn without_temporal_the_model_is_told_the_same(#[values(By::Stdio, By::Http)] by: By) -> anyhow::Result<()> {
    let (model, reached) = (script(), by.reach());
    let runner =
        InlineRunner::new(Resources::new().model_provider(model.clone()).mcp_server("workshop", reached.transport));
    assert_eq!(runner.run(&smith(McpServer::named("workshop")), "Work.").await?.final_output, "done");
    assert_eq!(outputs(&model), told());
    model.verify();
    Ok(())
}

#[tokio::test]
async fn structured_content_is_told_where_it_is_wanted() -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("weather", json!({"city": "Oslo"})), text("done")]);
    let resources = Resources::new().model_provider(model.clone()).mcp_server("workshop", By::Stdio.reach().transport);
    let runner = InlineRunner::new(resources);
    let server = McpServer::named("workshop").use_structured_content();
    runner.run(&smith(server), "Weather?").await?;
    assert_eq!(outputs(&model), [json!(r#"{"city":"Oslo","degrees":12}"#)]);
    Ok(())
}

#[tokio::test]
async fn calls_of_a_run_share_a_connection() -> anyhow::Result<()> {
    let model = FakeModel::script([
        tool_calls([("pid", json!({})), ("pid", json!({}))]),
        tool_call("pid", json!({})),
        text("done"),
    ]);
    let resources = Resources::new().model_provider(model.clone()).mcp_server("workshop", By::Stdio.reach().transport);
    let runner = InlineRunner::new(resources);
    runner.run(&smith(McpServer::named("workshop")), "Which process?").await?;
    let pids = outputs(&model);
    assert!(pids.len() == 3 && pids.iter().all(|pid| *pid == pids[0]), "{pids:?}");
    Ok(())
}

#[tokio::test]
async fn a_server_that_nobody_uses_ends_and_is_started_anew() -> anyhow::Result<()> {
    let model = FakeModel::function(|call, _| if call.turn == 1 { tool_call("pid", json!({})) } else { text("done") });
    let resources = Resources::new()
        .model_provider(model.clone())
        .mcp_server("workshop", By::Stdio.reach().transport)
        .mcp_idle_timeout(Duration::from_millis(50));
    let (runner, agent) = (InlineRunner::new(resources), smith(McpServer::named("workshop")));
    runner.run(&agent, "Which process?").await?;
    let first: i32 = outputs(&model)[0].as_str().unwrap_or_default().parse()?;
    ended(first).await?;
    runner.run(&agent, "Which process?").await?;
    assert_ne!(outputs(&model), [json!(first.to_string())]);
    Ok(())
}
