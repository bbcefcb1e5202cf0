//! The query, at every stage of a run.

use rstest::rstest;
use serde_json::json;
use temporal_agents::{
    client::AgentHandle,
    wire::{ModelFailureKind, RunStatus},
};
use temporal_agents_testing::{
    FakeModel,
    fake_model::{failure, text, tool_call},
};

use super::support::{
    Desk, desk_with, desk_with_held, interruption, request, state, state_when, state_when_waiting, taken,
};
use crate::held_model::HeldModel;

#[rstest]
#[tokio::test]
async fn the_state_follows_the_run_and_outlives_it(#[values(true, false)] cached: bool) -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("refund", json!({"order": 7})), text("done")]);
    let held = HeldModel::new(&model);
    let env = desk_with_held(&held, cached).await?;
    let handle = env.start_workflow(Desk::run, request()).await?;
    let agent = AgentHandle::new(env.client(), "desk-0");
    held.asked().await?;
    assert_eq!(agent.state().await?, state(RunStatus::Running, 1));

    held.answer();
    let mut waiting = state(RunStatus::Waiting, 1);
    waiting.interruptions.push(interruption("call_0_0", 7));
    assert_eq!(state_when_waiting(&agent).await?, waiting);

    agent.approve("call_0_0").await?;
    let mut running = state(RunStatus::Running, 2);
    running.decided.push(taken("call_0_0", temporal_agents::wire::Verdict::Approve));
    assert_eq!(state_when(&agent, "at turn 2", |state| state.turn == 2).await?, running);

    held.answer();
    assert_eq!(env.await_run(&handle).await?.output()?, "done");
    running.status = RunStatus::Completed;
    assert_eq!(agent.state().await?, running);
    env.finish().await?;
    Ok(())
}

#[rstest]
#[tokio::test]
async fn a_run_that_failed_says_so(#[values(true, false)] cached: bool) -> anyhow::Result<()> {
    let model = FakeModel::script([failure(ModelFailureKind::Authentication, "no key")]);
    let env = desk_with(&model, cached).await?;
    assert!(env.run(Desk::run, request()).await?.output().is_err());
    let agent = AgentHandle::new(env.client(), "desk-0");
    assert_eq!(agent.state().await?, state(RunStatus::Failed, 1));
    env.finish().await?;
    Ok(())
}
