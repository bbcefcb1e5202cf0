//! Decisions that arrive before the run asks for them.

use rstest::rstest;
use serde_json::json;
use temporal_agents::{
    client::AgentHandle,
    wire::{AgentDecision, DecisionAnswer, RunStatus, Verdict},
};
use temporal_agents_testing::{
    FakeModel,
    fake_model::{text, tool_call},
};

use super::support::{Desk, MODEL, REFUND, activity_types, desk_with_held, kept, last_outputs, request, state};
use crate::held_model::HeldModel;

#[rstest]
#[tokio::test]
async fn a_decision_is_kept_until_the_run_asks(#[values(true, false)] cached: bool) -> anyhow::Result<()> {
    let model = FakeModel::script([
        tool_call("refund", json!({"order": 7})),
        tool_call("refund", json!({"order": 8})),
        text("done"),
    ]);
    let held = HeldModel::new(&model);
    let env = desk_with_held(&held, cached).await?;
    let handle = env.start_workflow(Desk::run, request()).await?;
    let agent = AgentHandle::new(env.client(), "desk-0");
    held.asked().await?;

    let nothing_waits = || DecisionAnswer::Kept { waits_for: Vec::new() };
    assert_eq!(agent.approve("call_0_0").await?, nothing_waits());
    assert_eq!(agent.approve("call_0_0").await?, nothing_waits(), "the same again");
    let other = agent.reject("call_0_0", "no").await?;
    assert_eq!(other, DecisionAnswer::AlreadyDecided { decision: Verdict::Approve, always: false });
    assert_eq!(agent.decide(AgentDecision::reject_with("call_1_0", "no more")).await?, nothing_waits());
    let mut expected = state(RunStatus::Running, 1);
    let rejected = Verdict::Reject { message: Some("no more".to_owned()) };
    expected.decided = vec![kept("call_0_0", Verdict::Approve), kept("call_1_0", rejected)];
    assert_eq!(agent.state().await?, expected);

    for _ in 0..3 {
        held.answer();
    }
    let run = env.await_run(&handle).await?;
    assert_eq!(activity_types(&run), [MODEL, REFUND, MODEL, MODEL], "the run has not waited");
    assert_eq!(last_outputs(&model), [json!("refunded 7"), json!("no more")]);
    assert_eq!(run.output()?, "done");
    let mut expected = state(RunStatus::Completed, 3);
    expected.decided = agent.state().await?.decided;
    assert!(expected.decided.iter().all(|decided| decided.taken), "{expected:?}");
    assert_eq!(agent.state().await?, expected);
    env.finish().await?;
    Ok(())
}
