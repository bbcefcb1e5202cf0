//! Servers that ask people something in the middle of a call (elicitation): the run waits for the answer.

use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{
    Agent, Resources,
    client::AgentHandle,
    inline::InlineRunner,
    run::RunOutcome,
    tool::{McpServer, McpSessionOptions},
    wire::{AgentInterruption, AgentRequest, AgentState, Decision, DecisionAnswer, DecisionRefused, McpQuestion},
    workflow::{AgentSet, AgentWorkflow, ContinueOptions},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    fake_model::{text, tool_call},
};

use super::{
    python::stdio,
    support::{By, Reached, outputs, smith},
};
use crate::{
    agent_handlers::support::{answer_to, state_when, state_when_waiting},
    continuing::ready_made::histories,
    support::read,
};

fn asking() -> McpServer {
    McpServer::named("workshop").allow_elicitation()
}

fn stateful() -> McpServer {
    asking().stateful(McpSessionOptions::new().set_up("login", json!({"user": "Ada", "password": "x"})))
}

/// Counts, orders, counts.
fn script() -> FakeModel {
    FakeModel::script([
        tool_call("count", json!({})),
        tool_call("order", json!({"item": "chairs"})),
        tool_call("count", json!({})),
        text("done"),
    ])
}

fn how_many() -> McpQuestion {
    let schema = json!({
        "type": "object",
        "title": "Quantity",
        "properties": {"quantity": {"type": "integer", "title": "Quantity"}},
        "required": ["quantity"],
    });
    read(json!({"message": "How many chairs?", "schema": schema}))
}

fn asks(id: &str, question: McpQuestion) -> AgentInterruption {
    let arguments = json!({"item": "chairs"}).to_string();
    read(json!({
        "id": id, "agent": "smith", "tool": "order", "arguments": arguments, "kind": "input", "question": question,
    }))
}

/// The agent in a workflow that continues as new whenever it may.
async fn environment(
    agent: Agent,
    model: &FakeModel,
    by: By,
    cached: bool,
) -> anyhow::Result<(AgentEnvironment, Reached)> {
    let of_workflow = agent.clone();
    let agents = move || of_workflow.clone();
    let set = AgentSet::new((agents,)).continue_when(ContinueOptions::builder().new_events(0).build());
    let mut reached = by.reach();
    let transport = std::mem::replace(&mut reached.transport, stdio().into());
    let builder = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(set))?
        .model(model)
        .mcp_server("workshop", transport)
        .agents((agent,))
        .agents_worker();
    let env = if cached { builder } else { builder.without_workflow_cache() }.start().await?;
    Ok((env, reached))
}

#[rstest]
#[case::plain(asking(), By::Stdio, true, ["1 for nobody", "2 for nobody"])]
#[case::plain_uncached(asking(), By::Stdio, false, ["1 for nobody", "2 for nobody"])]
#[case::http(asking(), By::Http, true, ["1 for nobody", "2 for nobody"])]
#[case::session(stateful(), By::Stdio, true, ["1 for Ada", "2 for Ada"])]
#[case::session_uncached(stateful(), By::Stdio, false, ["1 for Ada", "2 for Ada"])]
#[tokio::test]
async fn what_a_server_asks_waits_for_people_through_new_executions(
    #[case] server: McpServer,
    #[case] by: By,
    #[case] cached: bool,
    #[case] counts: [&str; 2],
) -> anyhow::Result<()> {
    let model = script();
    let (env, _reached) = environment(smith(server), &model, by, cached).await?;
    let started = env.start_workflow(AgentWorkflow::run, AgentRequest::new("smith", "Order chairs.")).await?;
    let id = started.info().workflow_id.clone();
    let agent = AgentHandle::new(env.client(), &*id);
    let asked = state_when_waiting(&agent).await?.interruptions;
    assert_eq!(asked, [asks("call_1_0", how_many())]);
    let refused = |reason: &str| DecisionAnswer::Refused { reason: reason.to_owned() };
    assert_eq!(
        answer_to(async || agent.approve("call_1_0").await).await?,
        refused(
            "an MCP server requests input during this call of tool \"order\": supply the answer \
             (agent_supply_output), or reject the call"
        )
    );
    let wrong = agent.supply_output("call_1_0", json!({"quantity": "two"})).await?;
    assert!(matches!(&wrong, DecisionAnswer::Refused { reason } if reason.contains("quantity")), "{wrong:?}");
    assert_eq!(agent.supply_output("call_1_0", json!({"quantity": 2})).await?, DecisionAnswer::Accepted);
    let is_second = |state: &AgentState| state.interruptions.iter().any(|call| call.id == "call_1_0#2");
    let second = state_when(&agent, "asking whether that is meant", is_second).await?.interruptions;
    assert_eq!(second[0].question.as_ref().map(|question| &*question.message), Some("Sure about 2?"));
    // Not asked twice: where it is kept, it counts, and the run may be over by then.
    let sure = agent.supply_output("call_1_0#2", json!({"sure": true})).await?;
    assert!(sure.counts(), "{sure:?}");
    assert_eq!(env.await_run(&started).await?.output()?, json!("done"));
    assert_eq!(outputs(&model), [counts[0], "2 chairs ordered", counts[1]].map(Value::from));
    histories(&env, &id).await?;
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_question_may_be_declined() -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("order", json!({"item": "chairs"})), text("done")]);
    let (env, _reached) = environment(smith(asking()), &model, By::Stdio, true).await?;
    let started = env.start_workflow(AgentWorkflow::run, AgentRequest::new("smith", "Order chairs.")).await?;
    let id = started.info().workflow_id.clone();
    let agent = AgentHandle::new(env.client(), &*id);
    assert_eq!(state_when_waiting(&agent).await?.interruptions, [asks("call_0_0", how_many())]);
    assert_eq!(agent.reject("call_0_0", "none").await?, DecisionAnswer::Accepted);
    assert_eq!(env.await_run(&started).await?.output()?, json!("done"));
    assert_eq!(outputs(&model), ["no chairs: decline"].map(Value::from));
    histories(&env, &id).await?;
    env.finish().await?;
    Ok(())
}

#[rstest]
#[case::plain(asking())]
#[case::session(stateful())]
#[tokio::test]
async fn without_temporal_the_run_pauses_and_is_resumed_with_the_answer(
    #[case] server: McpServer,
) -> anyhow::Result<()> {
    let (model, agent) = (script(), smith(server));
    let runner = InlineRunner::new(Resources::new().model_provider(model.clone()).mcp_server("workshop", stdio()));
    let RunOutcome::Paused(paused) = runner.run(&agent, "Order chairs.").until_paused().await? else {
        anyhow::bail!("nobody was asked")
    };
    let mut state = paused.state;
    let no_object = state.supply_output("call_1_0", "two").unwrap_err();
    let (id, tool) = ("call_1_0".to_owned(), "order".to_owned());
    assert_eq!(no_object, DecisionRefused::NoJsonObject { id: id.clone(), tool: tool.clone() });
    let approved = state.decide("call_1_0", Decision::approve()).unwrap_err();
    assert_eq!(approved, DecisionRefused::WaitsForInput { id, tool });
    state.supply_output("call_1_0", r#"{"quantity": 3}"#)?;
    let RunOutcome::Paused(paused) = runner.run(&agent, state).until_paused().await? else {
        anyhow::bail!("nobody was asked")
    };
    let mut state = paused.state;
    state.decide("call_1_0", Decision::reject())?;
    let RunOutcome::Finished(result) = runner.run(&agent, state).until_paused().await? else {
        anyhow::bail!("it waits for more")
    };
    assert_eq!(result.final_output, "done");
    let ordered = outputs(&model)[1].clone();
    assert_eq!(ordered, json!("no 3 chairs: decline"));
    Ok(())
}

#[tokio::test]
async fn by_default_nobody_is_asked_and_the_server_is_told() -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("order", json!({"item": "chairs"})), text("done")]);
    let runner = InlineRunner::new(Resources::new().model_provider(model.clone()).mcp_server("workshop", stdio()));
    runner.run(&smith(McpServer::named("workshop")), "Order chairs.").await?;
    assert_eq!(outputs(&model), ["no chairs: decline"].map(Value::from));
    Ok(())
}
