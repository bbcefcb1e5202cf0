//! On which terms an agent has the tools of a server.

use futures::StreamExt;
use rstest::rstest;
use serde_json::{Map, json};
use temporal_agents::{
    Agent, Resources, RunError,
    client::RunEvents,
    inline::InlineRunner,
    run::RunOutcome,
    tool::McpServer,
    wire::{Decision, EventKind, ModelCall, RunEvent},
};
use temporal_agents_testing::{
    FakeModel,
    fake_model::{Reply, text, tool_call, tool_calls},
};

use super::support::{By, Workshop, offered, outputs, smith, workshop};

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

#[rstest]
#[tokio::test]
async fn a_server_returns_data_that_no_model_receives(#[values(true, false)] cached: bool) -> anyhow::Result<()> {
    let model = FakeModel::function(|call: &ModelCall, _| -> Reply {
        let is_answered = call.input.iter().any(|item| item.get("output").is_some());
        if is_answered { text("done") } else { tool_call("search_cards", json!({})) }
    });
    let card = json!({"kind": "card", "audience": "timeline", "data": {"title": "plane"}});
    let bounds = json!({"returned": 1, "total": 9, "truncated": true, "next_cursor": "c2"});
    let expected = json!({"server_data": [card], "bounds": bounds});
    let agent = smith(McpServer::named("workshop").only(["search_cards"]));
    let env = workshop(&agent, &model, By::Stdio.reach().transport, cached).await?;
    let run = env.run(Workshop::run, "Work.".to_owned()).await?;
    let events: Vec<RunEvent> = RunEvents::new(env.client())
        .watch(&run.workflow_id)
        .map(|event| event.expect("facts are read"))
        .collect()
        .await;
    let beside = events.into_iter().find_map(|event| match event.kind {
        EventKind::ToolOutput { side_data, .. } => side_data,
        _ => None,
    });
    assert_eq!(json!(beside), expected);
    assert_eq!(outputs(&model), [json!("found")]);
    env.finish().await?;

    let inline = runner(&model).run(&agent, "Work.").await?;
    let beside = inline.new_items.into_iter().find_map(|item| item.side_data);
    assert_eq!(json!(beside), expected);
    assert_eq!(outputs(&model), [json!("found")]);
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
