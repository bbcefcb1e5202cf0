//! A worker process killed with SIGKILL at six points of the approval example never loses a decision and never repeats one.
//!
//! Nothing here depends on how fast anything is: the process to be killed holds still at its point, and is killed once history
//! shows that it is there. Another process takes over.

mod point;
mod worker;

use std::time::Duration;

use rstest::rstest;
use temporal_agents::{
    client::AgentHandle,
    wire::{DecisionAnswer, RunStatus, Verdict},
};
use temporal_agents_examples::approval::{Refunds, ledger::Ledger};
use temporal_agents_testing::{
    DevServer,
    environment::{ActivityOutcome, activities},
};
use temporalio_client::{WorkflowGetResultOptions, WorkflowStartOptions};
use tokio::time::timeout;

use self::{
    point::Point,
    worker::{Hold, TASK_QUEUE, Task},
};
use crate::PATIENCE;

use super::{
    approval::{CALL, approved, case, is_asked},
    histories_of,
};

/// How soon the server gives a workflow task to another worker.
const TASK_TIMEOUT: Duration = Duration::from_secs(3);

/// The attempts of the three activities: the call that was under way has a second one, what had finished has not.
#[rstest]
#[case::before_the_first_answer(Point::FirstAnswer, [2, 1, 1])]
#[case::before_the_approval_is_asked(Point::BeforeAsking, [1, 1, 1])]
#[case::while_waiting(Point::Waiting, [1, 1, 1])]
#[case::while_waiting_in_a_second_history(Point::WaitingRenewed, [1, 1, 1])]
#[case::after_the_decision_while_the_tool_runs(Point::ToolRunning, [1, 2, 1])]
#[case::after_the_tool_before_the_last_answer(Point::LastAnswer, [1, 1, 2])]
#[tokio::test]
async fn a_decision_counts_once_when_the_worker_is_killed(
    #[case] point: Point,
    #[case] attempts: [i32; 3],
) -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let ledger = Ledger { path: directory.path().join("ledger.txt"), confirmation: Duration::from_secs(1) };
    let server = DevServer::start().await?;
    let client = server.client().await?;
    let task = |hold| Task { target: server.target_url(), ledger: ledger.path.clone(), hold };
    let victim = worker::start(&task(point.hold()))?;

    let options = WorkflowStartOptions::new(TASK_QUEUE, "refund-7").task_timeout(TASK_TIMEOUT).build();
    let refunds = client.start_workflow(Refunds::run, case(), options).await?;
    point.reach(&client, "refund-7", &ledger).await?;
    victim.kill()?;
    point.check(&client, "refund-7", &ledger).await?;
    let successor = worker::start(&task(Hold::Nothing))?;

    let agent = AgentHandle::new(&client, "refund-7");
    if !point.is_decided() {
        is_asked(&agent).await?;
        assert_eq!(agent.approve(CALL).await?, DecisionAnswer::Accepted);
    }
    assert_eq!(agent.approve(CALL).await?, DecisionAnswer::Accepted, "the same decision again");
    let first = DecisionAnswer::AlreadyDecided { decision: Verdict::Approve, always: false };
    assert_eq!(agent.reject(CALL, "no").await?, first, "another decision after it");

    let settled = timeout(PATIENCE, refunds.get_result(WorkflowGetResultOptions::default())).await;
    anyhow::ensure!(settled.is_ok(), "the run does not end after the worker was killed at {point:?}");
    assert_eq!(settled??, "Settled: 240 euros for A-1042 are paid.");
    assert_eq!(ledger.payments()?, ["A-1042 240"]);
    let state = agent.state().await?;
    assert_eq!((state.status, state.decided), (RunStatus::Completed, approved()));

    let histories = histories_of::<Refunds>(&client, "refund-7").await?;
    assert_eq!(histories.len(), if point == Point::WaitingRenewed { 2 } else { 1 });
    let calls: Vec<_> =
        histories.iter().flat_map(activities).map(|a| (a.activity_type, a.attempts, a.outcome)).collect();
    let done = |kind: &str, attempts| (kind.to_owned(), attempts, ActivityOutcome::Completed);
    let [first, tool, last] = attempts;
    let expected =
        [done("agents.call_model", first), done("agents.tool.refund", tool), done("agents.call_model", last)];
    assert_eq!(calls, expected);
    drop(successor);
    server.shutdown().await;
    Ok(())
}
