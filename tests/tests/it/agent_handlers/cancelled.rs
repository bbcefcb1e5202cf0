//! A workflow that is cancelled while its run waits.

use rstest::rstest;
use serde_json::json;
use temporal_agents::{
    client::{AgentHandle, AgentHandleError},
    wire::RunStatus,
};
use temporal_agents_testing::{FakeModel, fake_model::tool_call};
use temporalio_client::{WorkflowCancelOptions, errors::WorkflowGetResultError};

use super::support::{Desk, MODEL, activity_types, desk_with, request, state, state_when_waiting};

#[rstest]
#[tokio::test]
async fn a_run_that_waits_ends_with_its_workflow(#[values(true, false)] cached: bool) -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("refund", json!({"order": 7}))]);
    let env = desk_with(&model, cached).await?;
    let handle = env.start_workflow(Desk::run, request()).await?;
    let agent = AgentHandle::new(env.client(), "desk-0");
    state_when_waiting(&agent).await?;
    handle.cancel(WorkflowCancelOptions::default()).await?;
    let run = env.await_run(&handle).await?;
    assert_eq!(activity_types(&run), [MODEL]);
    let ended = run.output().expect_err("it was cancelled");
    assert!(matches!(ended, WorkflowGetResultError::Cancelled { .. }), "{ended:?}");
    assert_eq!(agent.state().await?, state(RunStatus::Cancelled, 1));
    let late = agent.approve("call_0_0").await.expect_err("nobody is there to take it");
    assert!(matches!(&late, AgentHandleError::NotFound { workflow_id } if workflow_id == "desk-0"), "{late}");
    env.finish().await?;
    Ok(())
}
