//! Providers that do not answer at all.

use std::time::Duration;

use rstest::rstest;
use temporal_agents_testing::environment::ActivityOutcome;
use temporalio_client::{WorkflowCancelOptions, errors::WorkflowGetResultError};
use temporalio_common::protos::temporal::api::enums::v1::EventType;
use tokio::net::TcpSocket;

use super::{
    provider::{SilentServer, open_ai},
    run::{Ask, Asking, asking, attempts, chain, count, model_failure},
};

#[tokio::test]
async fn a_hung_call_times_out_and_its_request_is_given_up() -> anyhow::Result<()> {
    let server = SilentServer::start().await;
    let env = asking()?.model_provider(server.provider()).start().await?;
    let ask = Ask::model("gpt-5").attempts(2).start_to_close(Duration::from_secs(2));
    let handle = env.start_workflow(Asking::run, ask).await?;
    let first = server.request().await;
    let second = server.request().await;
    tokio::join!(first.given_up(), second.given_up());
    let run = env.await_run(&handle).await?;
    assert_eq!(
        run.failure_chain(),
        chain(&[
            (
                "AgentsWorkflowError",
                "the model call of agent \"asker\" at turn 1 (model \"gpt-5\") failed: model \"gpt-5\" did not answer \
                 agent \"asker\" within 2s, the limit of ModelActivityOptions::start_to_close"
            ),
            ("Activity", "Activity task failed"),
            (
                "ModelInvocationError.Timeout",
                "model \"gpt-5\" did not answer agent \"asker\" within 2s, the limit of \
                 ModelActivityOptions::start_to_close"
            ),
        ])
    );
    assert_eq!(attempts(&run), [(2, ActivityOutcome::Failed("ModelInvocationError.Timeout".to_owned()))]);
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_refused_connection_is_tried_again() -> anyhow::Result<()> {
    // Bound, so that nobody else takes the port, but not listening.
    let socket = TcpSocket::new_v4()?;
    socket.bind("127.0.0.1:0".parse()?)?;
    let provider = open_ai(&format!("http://{}", socket.local_addr()?));
    let env = asking()?.model_provider(provider).start().await?;
    let run = env.run(Asking::run, Ask::model("gpt-5").attempts(3)).await?;
    let chain = run.failure_chain();
    let message = chain.last().map_or("", |(_, message)| message);
    // Its end is the system's own number of the error.
    assert!(message.starts_with("connection failed: Connection refused (os error "), "{message}");
    assert_eq!(chain, model_failure("gpt-5", "Connection", message));
    let failed = ActivityOutcome::Failed("ModelInvocationError.Connection".to_owned());
    assert_eq!(attempts(&run), [(3, failed)]);
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_connection_that_is_closed_without_an_answer_is_tried_again() -> anyhow::Result<()> {
    let server = SilentServer::start().await;
    let env = asking()?.model_provider(server.provider()).start().await?;
    let handle = env.start_workflow(Asking::run, Ask::model("gpt-5")).await?;
    drop(server.request().await);
    server.request().await.answer("at last").await;
    let run = env.await_run(&handle).await?;
    assert_eq!(attempts(&run), [(2, ActivityOutcome::Completed)]);
    assert_eq!(run.output()?, "at last");
    env.finish().await?;
    Ok(())
}

#[rstest]
#[case::without_waiting_for_the_call(Ask::model("gpt-5"), ActivityOutcome::Pending)]
#[case::waiting_for_the_call(Ask::model("gpt-5").awaiting_cancellation(), ActivityOutcome::Cancelled)]
#[tokio::test]
async fn cancelling_the_workflow_gives_the_request_up(
    #[case] ask: Ask,
    #[case] outcome: ActivityOutcome,
) -> anyhow::Result<()> {
    let server = SilentServer::start().await;
    let env = asking()?.model_provider(server.provider()).start().await?;
    let handle = env.start_workflow(Asking::run, ask).await?;
    let request = server.request().await;
    handle.cancel(WorkflowCancelOptions::default()).await?;
    request.given_up().await;
    let run = env.await_run(&handle).await?;
    assert!(matches!(run.result, Err(WorkflowGetResultError::Cancelled { .. })), "{:?}", run.result);
    assert_eq!(count(&run.history, EventType::ActivityTaskCancelRequested), 1);
    let outcomes: Vec<_> = run.activities().into_iter().map(|activity| activity.outcome).collect();
    assert_eq!(outcomes, [outcome]);
    env.finish().await?;
    Ok(())
}
