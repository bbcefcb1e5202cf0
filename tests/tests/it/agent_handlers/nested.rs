//! Decisions on calls that an agent makes inside another agent's call.

use rstest::rstest;
use serde_json::json;
use temporal_agents::{
    Agent, Runner, agent_handlers,
    client::AgentHandle,
    wire::{AgentDecision, DecisionAnswer},
    workflow::AgentInbox,
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    fake_model::{text, tool_call, tool_calls},
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

use super::support::{
    MODEL, REFUND, activity_types, desk, environment, interruption, last_outputs, state_when, state_when_waiting,
};

fn manager() -> Agent {
    Agent::new("manager").model("gpt-5").tool(desk().as_tool().description("Gives refunds."))
}

#[workflow]
#[derive(Default)]
pub(crate) struct Office {
    decisions: AgentInbox,
}

#[agent_handlers(inbox = decisions)]
#[workflow_methods]
impl Office {
    #[run(name = "office")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, request: String) -> WorkflowResult<String> {
        Ok(Runner::with_inbox(ctx).run(&manager(), request).await?.final_output)
    }
}

async fn office(model: &FakeModel, cached: bool) -> anyhow::Result<AgentEnvironment> {
    Ok(environment::<Office>(cached)?.model(model).agents((manager,)).start().await?)
}

#[rstest]
#[tokio::test]
async fn a_call_inside_an_agents_call_is_decided_by_the_way_to_it(
    #[values(true, false)] cached: bool,
) -> anyhow::Result<()> {
    let model = FakeModel::script([
        tool_call("desk", json!({"input": "refund order 7"})),
        tool_call("refund", json!({"order": 7})),
        text("it is refunded"),
        text("done"),
    ]);
    let env = office(&model, cached).await?;
    let handle = env.start_workflow(Office::run, "Give me my money back.".to_owned()).await?;
    let agent = AgentHandle::new(env.client(), "office-0");
    let waiting = state_when_waiting(&agent).await?;
    assert_eq!(waiting.interruptions, [interruption("call_0_0/call_1_0", 7)]);
    let outer = agent.approve("call_0_0").await?;
    assert_eq!(outer, DecisionAnswer::Unmatched { waits_for: vec!["call_0_0/call_1_0".to_owned()] });
    assert_eq!(agent.approve("call_0_0/call_1_0").await?, DecisionAnswer::Accepted);
    let run = env.await_run(&handle).await?;
    assert_eq!(activity_types(&run), [MODEL, MODEL, REFUND, MODEL, MODEL]);
    assert_eq!(last_outputs(&model), [json!("it is refunded")]);
    assert_eq!(run.output()?, "done");
    env.finish().await?;
    Ok(())
}

#[rstest]
#[tokio::test]
async fn calls_of_one_response_inside_wait_for_each_other_and_are_listed_until_decided(
    #[values(true, false)] cached: bool,
) -> anyhow::Result<()> {
    let model = FakeModel::script([
        tool_call("desk", json!({"input": "refund orders 7 and 8"})),
        tool_calls([("refund", json!({"order": 7})), ("refund", json!({"order": 8}))]),
        text("one of them"),
        text("done"),
    ]);
    let env = office(&model, cached).await?;
    let handle = env.start_workflow(Office::run, "Give me my money back.".to_owned()).await?;
    let agent = AgentHandle::new(env.client(), "office-0");
    let [first, second] = ["call_0_0/call_1_0", "call_0_0/call_1_1"];
    let waiting = state_when_waiting(&agent).await?;
    assert_eq!(waiting.interruptions, [interruption(first, 7), interruption(second, 8)]);

    assert_eq!(agent.approve(first).await?, DecisionAnswer::Accepted);
    let waiting = state_when(&agent, "one left", |state| state.interruptions.len() == 1).await?;
    assert_eq!(waiting.interruptions, [interruption(second, 8)]);
    assert_eq!(agent.approve(first).await?, DecisionAnswer::Accepted, "the same again");
    assert_eq!(agent.decide(AgentDecision::reject_with(second, "too much")).await?, DecisionAnswer::Accepted);

    let run = env.await_run(&handle).await?;
    assert_eq!(activity_types(&run), [MODEL, MODEL, REFUND, MODEL, MODEL]);
    let inside = &model.calls()[2].input;
    let outputs: Vec<_> = inside.iter().filter_map(|item| item.get("output").cloned()).collect();
    assert_eq!(outputs, [json!("refunded 7"), json!("too much")]);
    env.finish().await?;
    Ok(())
}
