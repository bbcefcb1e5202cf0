//! Workers that end while a model call is under way, and others that take it over.
//!
//! A killed worker is one whose runtime is gone at once: to the server it is the same as a process killed with SIGKILL.
//! Its memory is not gone with it; that takes a process, as in the quickstart's `--crash`.

use std::time::Duration;

use temporal_agents_testing::environment::ActivityOutcome;
use temporalio_client::{Client, WorkflowDescribeOptions, WorkflowHandle};
use temporalio_common::{HasWorkflowDefinition, protos::temporal::api::enums::v1::PendingActivityState};
use wiremock::MockServer;

use super::{
    provider::{SilentServer, answer, asked_for, failure, open_ai},
    run::{Ask, Asking, asking, attempts, last_attempt},
};

#[tokio::test]
async fn a_worker_stopped_between_attempts_leaves_the_next_one_to_another_worker() -> anyhow::Result<()> {
    let server = MockServer::start().await;
    asked_for("gpt-5").respond_with(failure(500, "sorry")).up_to_n_times(1).mount(&server).await;
    asked_for("gpt-5").respond_with(answer("at last")).mount(&server).await;
    let mut env = asking()?.model_provider(open_ai(&server.uri())).start().await?;
    let ask = Ask::model("gpt-5").pause(Duration::from_secs(5));
    let handle = env.start_workflow(Asking::run, ask).await?;
    pause_after_the_first_attempt(&handle).await?;
    env.stop_worker().await?;
    env.start_worker()?;
    let run = env.await_run(&handle).await?;
    assert_eq!(attempts(&run), [(2, ActivityOutcome::Completed)]);
    let last = last_attempt(&run.history);
    let before = last.last_failure.map(|failure| failure.message);
    assert_eq!((&*last.identity, before.as_deref()), ("agent-worker-2", Some("server error (500): sorry")));
    assert_eq!(run.output()?, "at last");
    env.finish().await?;
    Ok(())
}

/// Waits until the first attempt has failed and the second is not yet due.
async fn pause_after_the_first_attempt<W: HasWorkflowDefinition>(
    handle: &WorkflowHandle<Client, W>,
) -> anyhow::Result<()> {
    let mut was_seen = false;
    loop {
        let description = handle.describe(WorkflowDescribeOptions::default()).await?.raw_description;
        match description.pending_activities.first() {
            Some(call) if (call.attempt, call.state()) == (2, PendingActivityState::Scheduled) => return Ok(()),
            Some(_) => was_seen = true,
            None => anyhow::ensure!(!was_seen, "the second attempt came before the pause was seen"),
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn a_worker_stopped_during_a_call_gives_it_back_at_once() -> anyhow::Result<()> {
    let server = SilentServer::start().await;
    let mut env = asking()?.model_provider(server.provider()).start().await?;
    let handle = env.start_workflow(Asking::run, Ask::model("gpt-5")).await?;
    let first = server.request().await;
    let ((), stopped) = tokio::join!(first.given_up(), env.stop_worker());
    stopped?;
    env.start_worker()?;
    server.request().await.answer("at last").await;
    let run = env.await_run(&handle).await?;
    assert_eq!(attempts(&run), [(2, ActivityOutcome::Completed)]);
    let last = last_attempt(&run.history);
    let before = last.last_failure.map(|failure| failure.message);
    let given_back = "Worker is shutting down and this activity did not complete in time";
    assert_eq!((&*last.identity, before.as_deref()), ("agent-worker-2", Some(given_back)));
    assert_eq!(run.output()?, "at last");
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_killed_worker_is_missed_by_its_heartbeats() -> anyhow::Result<()> {
    let server = SilentServer::start().await;
    let mut env = asking()?.without_workflow_cache().model_provider(server.provider()).start().await?;
    let handle = env.start_workflow(Asking::run, Ask::model("gpt-5")).await?;
    let first = server.request().await;
    env.kill_worker().await?;
    first.given_up().await;
    env.start_worker()?;
    server.request().await.answer("at last").await;
    let run = env.await_run(&handle).await?;
    assert_eq!(attempts(&run), [(2, ActivityOutcome::Completed)]);
    let last = last_attempt(&run.history);
    let before = last.last_failure.map(|failure| failure.message);
    assert_eq!((&*last.identity, before.as_deref()), ("agent-worker-2", Some("activity Heartbeat timeout")));
    assert_eq!(run.output()?, "at last");
    env.finish().await?;
    Ok(())
}
