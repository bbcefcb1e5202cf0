//! On which terms an agent has the tools of a server.

use serde_json::{Map, json};
use temporal_agents::{
    Agent, Resources, RunError, inline::InlineRunner, run::RunOutcome, tool::McpServer, wire::Decision,
};
use temporal_agents_testing::{
    FakeModel,
    fake_model::{text, tool_call, tool_calls},
};

use super::support::{By, offered, outputs, smith};

fn runner(model: &FakeModel) -> InlineRunner {
    let resources = Resources::new().model_provider(model.clone());
    InlineRunner::new(resources.mcp_server("workshop", By::Stdio.reach().transport))
}

#[tokio::test]
async fn a_filter_sees_run_context_and_tool_at_every_turn() -> anyhow::Result<()> {
    let model = FakeModel::script([text("done")]);
    let server = McpServer::named("workshop").without(["pid"]).prefix("shop_").filter(|run, agent, tool| {
        let short = run.get::<usize>("short").ok().flatten().unwrap_or_default();
        agent == "smith" && tool.name.len() <= short
    });
    runner(&model).context("short", 4).run(&smith(server), "Work.").await?;
    assert_eq!(offered(&model), [["shop_add", "shop_poem", "shop_hang"]]);
    Ok(())
}

#[tokio::test]
async fn calls_that_need_approval_wait_and_are_made_when_the_run_goes_on() -> anyhow::Result<()> {
    let calls = [("add", json!({"a": 1, "b": 1})), ("poem", json!({}))];
    let model = FakeModel::script([tool_calls(calls), text("done")]);
    let agent = smith(McpServer::named("workshop").needs_approval_for(["poem"]));
    let outcome = runner(&model).run(&agent, "Work.").until_paused().await?;
    let RunOutcome::Paused(mut paused) = outcome else { panic!("{outcome:?}") };
    let waiting: Vec<_> = paused.interruptions().into_iter().map(|call| call.tool).collect();
    assert_eq!(waiting, ["poem"]);
    paused.state.decide("call_0_1", Decision::approve())?;
    let outcome = runner(&model).run(&agent, paused.state).until_paused().await?;
    assert!(matches!(outcome, RunOutcome::Finished(_)), "{outcome:?}");
    assert_eq!(outputs(&model), [json!("2"), json!("one\ntwo")]);
    Ok(())
}

#[tokio::test]
async fn meta_of_a_call_reaches_the_server() -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("seen_meta", json!({})), text("done")]);
    let server = McpServer::named("workshop")
        .meta(|_run, call| Map::from_iter([("trace".to_owned(), json!(format!("{} {}", call.agent, call.call_id)))]));
    runner(&model).run(&smith(server), "Work.").await?;
    assert_eq!(outputs(&model), [json!("smith call_0_0")]);
    Ok(())
}

#[tokio::test]
async fn two_servers_with_tools_of_one_name_need_a_prefix() -> anyhow::Result<()> {
    let model = FakeModel::script([text("done")]);
    let both = |second: McpServer| {
        let first = McpServer::named("workshop").only(["add"]);
        Agent::new("smith").model("gpt-5").mcp_server(first).mcp_server(second.only(["add"]))
    };
    let failure = runner(&model).run(&both(McpServer::named("workshop")), "Work.").await.unwrap_err();
    let RunError::User { message, .. } = failure.error else { panic!("{failure:?}") };
    assert_eq!(
        message,
        "Duplicate tool names found across MCP servers: 'add'. Set McpServer::prefix on one of the servers, or \
         exclude the tool with McpServer::without."
    );
    runner(&model).run(&both(McpServer::named("workshop").prefix("other_")), "Work.").await?;
    assert_eq!(offered(&model), [["add", "other_add"]]);
    Ok(())
}
