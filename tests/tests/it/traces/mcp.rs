//! Traces of runs with the tools of an MCP server.

use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{
    Agent, AgentsPlugin, Resources,
    client::AgentHandle,
    tool::{McpRefresh, McpServer},
    trace::{Otlp, Tracing, export_workflow},
    wire::{AgentRequest, ModelCall},
    workflow::{AgentSet, AgentWorkflow},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    fake_model::{Reply, text, tool_call, tool_calls},
};

use super::{
    collector::{Collector, Span, check_conventions, tree},
    traced::{Traced, by_id, replay},
};
use crate::{
    agent_handlers::support::{state_when, state_when_waiting},
    mcp::support::By,
};

fn smith() -> Agent {
    Agent::new("smith").model("gpt-5").mcp_server(McpServer::named("workshop").refresh(McpRefresh::EachTurn))
}

fn clerk() -> Agent {
    Agent::new("clerk").model("gpt-5").handoff(smith())
}

fn set() -> AgentSet {
    AgentSet::new((clerk, smith))
}

fn answer(call: &ModelCall) -> Reply {
    match call.turn {
        1 => tool_call("transfer_to_smith", json!({})),
        2 => tool_calls([("add", json!({"a": 3, "b": 4})), ("broken", json!({}))]),
        _ => text("done"),
    }
}

const TREE: &str = "\
invoke_workflow AgentWorkflow
  invoke_agent clerk
    call_model gpt-5
      chat gpt-5
    execute_tool transfer_to_smith smith
  invoke_agent smith
    list_mcp_tools workshop
      tools/list
    call_model gpt-5
      chat gpt-5
    call_tool add
      execute_tool add
    call_tool broken
      execute_tool broken
    list_mcp_tools workshop
      tools/list
    call_model gpt-5
      chat gpt-5";

#[rstest]
#[tokio::test]
async fn listings_and_calls_of_mcp_tools_have_spans_live_and_from_history(
    #[values(true, false)] has_cache: bool,
) -> anyhow::Result<()> {
    let mut collector = Collector::start().await?;
    let url = collector.url.clone();
    let model = FakeModel::function(|call, _| answer(call));
    let resources = Resources::new().model_provider(model).mcp_server("workshop", By::Stdio.reach().transport);
    let plugin = AgentsPlugin::new(resources).agents((clerk, smith));
    let tracing = |env: &AgentEnvironment| Ok(Tracing::new(env.client(), Otlp::new(&url)?));
    let traced = Traced::start_set(tracing, plugin, set, has_cache).await?;
    traced.run(AgentWorkflow::run, AgentRequest::new("clerk", "Go."), "mcp", None).await?;
    let count = export_workflow(traced.env.client(), "mcp", &Otlp::new(&collector.url)?).await?;
    let (live, history) = (collector.spans(count).await?, collector.spans(count).await?);
    check_conventions(&live);
    assert_eq!(tree(&live), TREE);
    assert_eq!(by_id(&live), by_id(&history));
    let methods = |span: &Span| {
        let of = |name: &str| span.attributes.get(name).cloned().unwrap_or_default();
        (span.name.clone(), of("mcp.method.name"), of("temporal_agents.mcp_server"))
    };
    let mut told: Vec<_> = live.iter().map(methods).filter(|(_, method, _)| *method != Value::Null).collect();
    told.sort_by(|one, other| one.0.cmp(&other.0));
    let of = |name: &str, method: &str| (name.to_owned(), json!(method), json!("workshop"));
    let listed = of("tools/list", "tools/list");
    let called = ["execute_tool add", "execute_tool broken"].map(|name| of(name, "tools/call"));
    assert_eq!(told, called.into_iter().chain([listed.clone(), listed]).collect::<Vec<_>>());
    replay(&traced.env, "mcp", set).await?;
    traced.env.finish().await?;
    Ok(())
}

fn asker() -> Agent {
    Agent::new("asker").model("gpt-5").mcp_server(McpServer::named("workshop").allow_elicitation())
}

fn asking() -> AgentSet {
    AgentSet::new((asker,))
}

#[rstest]
#[tokio::test]
async fn a_call_that_is_repeated_with_the_answers_of_people_has_a_span_for_each_time(
    #[values(true, false)] has_cache: bool,
) -> anyhow::Result<()> {
    let mut collector = Collector::start().await?;
    let url = collector.url.clone();
    let model = FakeModel::script([tool_call("order", json!({"item": "chairs"})), text("done")]);
    let resources = Resources::new().model_provider(model).mcp_server("workshop", By::Stdio.reach().transport);
    let plugin = AgentsPlugin::new(resources).agents((asker,));
    let tracing = |env: &AgentEnvironment| Ok(Tracing::new(env.client(), Otlp::new(&url)?));
    let traced = Traced::start_set(tracing, plugin, asking, has_cache).await?;
    let client = traced.env.client();
    let answering = async {
        let agent = AgentHandle::new(client, "asked");
        while agent.state().await.is_err() {}
        state_when_waiting(&agent).await?;
        agent.supply_output("call_0_0", json!({"quantity": 2})).await?;
        let is_second =
            |state: &temporal_agents::wire::AgentState| state.interruptions.iter().any(|call| call.id == "call_0_0#2");
        state_when(&agent, "asking again", is_second).await?;
        agent.supply_output("call_0_0#2", json!({"sure": true})).await?;
        anyhow::Ok(())
    };
    let running = traced.run(AgentWorkflow::run, AgentRequest::new("asker", "Go."), "asked", None);
    tokio::try_join!(running, answering)?;
    let count = export_workflow(client, "asked", &Otlp::new(&collector.url)?).await?;
    let (live, history) = (collector.spans(count).await?, collector.spans(count).await?);
    check_conventions(&live);
    let tree = tree(&live);
    assert_eq!(tree.matches("call_tool order\n      execute_tool order").count(), 3, "{tree}");
    assert_eq!(tree.matches("wait_for_decision order").count(), 2, "{tree}");
    assert_eq!(by_id(&live), by_id(&history));
    replay(&traced.env, "asked", asking).await?;
    traced.env.finish().await?;
    Ok(())
}
