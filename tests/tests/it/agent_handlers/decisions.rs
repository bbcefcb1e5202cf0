//! What a decision does to the call that waits for it, and what the one who decides is told.

use rstest::rstest;
use serde_json::json;
use temporal_agents::{
    client::AgentHandle,
    wire::{AgentDecision, AgentInterruption, DecisionAnswer, RunStatus, Verdict},
};
use temporal_agents_testing::{
    FakeModel,
    fake_model::{item, text, tool_call, tool_calls},
};

use super::support::{
    Desk, MODEL, REFUND, activity_types, desk_with, desk_with_held, interruption, last_outputs, lingering, request,
    state, state_when, state_when_waiting, taken,
};
use crate::{held_model::HeldModel, support::read};

const SUPPLIED: &str = "paid by hand";

#[rstest]
#[case::approved(AgentDecision::approve("call_0_0"), "refunded 7")]
#[case::rejected(AgentDecision::reject("call_0_0"), "Tool execution was not approved.")]
#[case::rejected_with_a_message(AgentDecision::reject_with("call_0_0", "ask the boss"), "ask the boss")]
#[tokio::test]
async fn a_decision_makes_the_call_or_tells_the_model_why_not(
    #[case] decision: AgentDecision,
    #[case] told: &str,
    #[values(true, false)] cached: bool,
) -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("refund", json!({"order": 7})), text("done")]);
    let env = desk_with(&model, cached).await?;
    let handle = env.start_workflow(Desk::run, request()).await?;
    let agent = AgentHandle::new(env.client(), "desk-0");
    let mut expected = state(RunStatus::Waiting, 1);
    expected.interruptions.push(interruption("call_0_0", 7));
    assert_eq!(state_when_waiting(&agent).await?, expected);

    assert_eq!(agent.decide(decision.clone()).await?, DecisionAnswer::Accepted);
    let run = env.await_run(&handle).await?;
    let is_made = decision.decision == Verdict::Approve;
    assert_eq!(activity_types(&run), if is_made { vec![MODEL, REFUND, MODEL] } else { vec![MODEL, MODEL] });
    assert_eq!(last_outputs(&model), [json!(told)]);
    assert_eq!(run.output()?, "done");
    assert_eq!(agent.state().await?.decided, [taken("call_0_0", decision.decision)]);
    env.finish().await?;
    Ok(())
}

#[rstest]
#[tokio::test]
async fn an_output_that_somebody_else_supplies_takes_the_place_of_the_call(
    #[values(true, false)] cached: bool,
) -> anyhow::Result<()> {
    let model = FakeModel::script([
        tool_calls([("refund", json!({"order": 7})), ("refund", json!({"order": 8}))]),
        text("done"),
    ]);
    let env = desk_with(&model, cached).await?;
    let handle = env.start_workflow(Desk::run, request()).await?;
    let agent = AgentHandle::new(env.client(), "desk-0");
    state_when_waiting(&agent).await?;
    assert_eq!(agent.supply_output("call_0_0", SUPPLIED).await?, DecisionAnswer::Accepted);
    assert_eq!(agent.supply_output("call_0_1", json!({"euros": 3})).await?, DecisionAnswer::Accepted);
    let run = env.await_run(&handle).await?;
    assert_eq!(activity_types(&run), [MODEL, MODEL]);
    assert_eq!(last_outputs(&model), [json!(SUPPLIED), json!("{\"euros\":3}")]);
    env.finish().await?;
    Ok(())
}

#[rstest]
#[tokio::test]
async fn a_decision_for_good_holds_for_calls_that_wait_and_for_later_ones(
    #[values(true, false)] cached: bool,
) -> anyhow::Result<()> {
    let model = FakeModel::script([
        tool_calls([("refund", json!({"order": 7})), ("refund", json!({"order": 8}))]),
        tool_call("refund", json!({"order": 9})),
        text("done"),
    ]);
    let held = HeldModel::new(&model);
    let env = desk_with_held(&held, cached).await?;
    let handle = env.start_workflow(Desk::run, request()).await?;
    let agent = AgentHandle::new(env.client(), "desk-0");
    held.answer();
    let waiting = state_when_waiting(&agent).await?;
    assert_eq!(waiting.interruptions, [interruption("call_0_0", 7), interruption("call_0_1", 8)]);

    let always = AgentDecision::approve("call_0_0").always();
    assert_eq!(agent.decide(always.clone()).await?, DecisionAnswer::Accepted);
    let running = state_when(&agent, "at turn 2", |state| state.turn == 2).await?;
    assert_eq!((running.status, running.interruptions), (RunStatus::Running, vec![]));
    assert_eq!(agent.decide(always).await?, DecisionAnswer::Accepted, "the same again");
    let for_good = DecisionAnswer::AlreadyDecided { decision: Verdict::Approve, always: true };
    assert_eq!(agent.approve("call_0_0").await?, for_good);
    assert_eq!(agent.reject("call_0_1", "no").await?, for_good, "it was decided with the first one");

    held.answer();
    held.answer();
    let run = env.await_run(&handle).await?;
    assert_eq!(activity_types(&run), [MODEL, REFUND, REFUND, MODEL, REFUND, MODEL]);
    assert_eq!(run.output()?, "done");
    env.finish().await?;
    Ok(())
}

#[rstest]
#[tokio::test]
async fn the_first_decision_counts_and_later_ones_are_told_so(
    #[values(true, false)] cached: bool,
) -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("refund", json!({"order": 7})), text("done")]);
    let held = HeldModel::new(&model);
    let env = desk_with_held(&held, cached).await?;
    let handle = env.start_workflow(Desk::run, request()).await?;
    let agent = AgentHandle::new(env.client(), "desk-0");
    held.answer();
    state_when_waiting(&agent).await?;
    assert_eq!(agent.approve("call_0_0").await?, DecisionAnswer::Accepted);
    assert_eq!(agent.approve("call_0_0").await?, DecisionAnswer::Accepted, "the same again");
    let approved = DecisionAnswer::AlreadyDecided { decision: Verdict::Approve, always: false };
    assert_eq!(agent.reject("call_0_0", "too late").await?, approved);
    assert_eq!(agent.supply_output("call_0_0", SUPPLIED).await?, approved);
    assert_eq!(agent.decide(AgentDecision::approve("call_0_0").always()).await?, approved);
    held.answer();
    let run = env.await_run(&handle).await?;
    assert_eq!(activity_types(&run), [MODEL, REFUND, MODEL]);
    env.finish().await?;
    Ok(())
}

#[rstest]
#[tokio::test]
async fn a_mistyped_id_is_unmatched_and_after_the_run_unknown(
    #[values(true, false)] cached: bool,
) -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("refund", json!({"order": 7})), text("done")]);
    let env = desk_with(&model, cached).await?;
    let handle = env.start_workflow(Desk::run, lingering()).await?;
    let agent = AgentHandle::new(env.client(), "desk-0");
    state_when_waiting(&agent).await?;
    let waits_for = vec!["call_0_0".to_owned()];
    assert_eq!(agent.approve("call_9").await?, DecisionAnswer::Unmatched { waits_for });
    agent.approve("call_0_0").await?;
    state_when(&agent, "finished", |state| state.status == RunStatus::Completed).await?;
    assert_eq!(agent.approve("call_8").await?, DecisionAnswer::Unknown { waits_for: Vec::new() });
    assert_eq!(agent.approve("call_0_0").await?, DecisionAnswer::Accepted, "the same again, after the run");
    handle.signal(Desk::close, (), temporalio_client::WorkflowSignalOptions::default()).await?;
    assert_eq!(env.await_run(&handle).await?.output()?, "done");
    env.finish().await?;
    Ok(())
}

#[rstest]
#[tokio::test]
async fn a_hosted_server_makes_its_calls_itself(#[values(true, false)] cached: bool) -> anyhow::Result<()> {
    let question = json!({
        "type": "mcp_approval_request", "id": "mcpr_1", "server_label": "crm", "name": "delete", "arguments": "{\"id\":3}",
    });
    let model = FakeModel::script([item(question), text("done")]);
    let env = desk_with(&model, cached).await?;
    let handle = env.start_workflow(Desk::run, request()).await?;
    let agent = AgentHandle::new(env.client(), "desk-0");
    let asked: AgentInterruption = read(json!({
        "id": "mcpr_1", "agent": "desk", "tool": "delete", "arguments": "{\"id\":3}", "server": "crm",
    }));
    assert_eq!(state_when_waiting(&agent).await?.interruptions, [asked]);
    let reason = "MCP server \"crm\" makes this call itself once it is approved: approve or reject it".to_owned();
    assert_eq!(agent.supply_output("mcpr_1", "gone").await?, DecisionAnswer::Refused { reason });
    assert_eq!(agent.reject("mcpr_1", "not that one").await?, DecisionAnswer::Accepted);
    assert_eq!(env.await_run(&handle).await?.output()?, "done");
    let last = model.calls().pop().expect("two calls");
    let answer = last.input.last().expect("an answer").to_value();
    assert_eq!((&answer["approve"], &answer["reason"]), (&json!(false), &json!("not that one")));
    env.finish().await?;
    Ok(())
}
