//! What a workflow fails with whose model call failed: the sentence first, and Temporal's failure below it, as it was.

use temporal_agents::{Agent, inline::InlineRunner, wire::ModelFailureKind};
use temporal_agents_testing::fake_model::{FakeModel, failure};
use temporalio_common::protos::temporal::api::{
    enums::v1::RetryState,
    failure::v1::{Failure, failure::FailureInfo},
    history::v1::history_event::Attributes,
};

use super::run::{Ask, Asking, asking};

const REASON: &str = "authentication failed (401): Incorrect API key provided";

#[tokio::test]
async fn a_workflow_fails_with_the_sentence_of_the_inline_run_first() -> anyhow::Result<()> {
    let model = || FakeModel::script([failure(ModelFailureKind::Authentication, REASON)]);
    let agent = Agent::new("asker").model("gpt-5").instructions("Be brief.");
    let inline = InlineRunner::new(model()).run(&agent, "hello").await;
    let inline = inline.expect_err("the key is wrong").to_string();
    assert_eq!(inline, format!("the model call of agent \"asker\" at turn 1 (model \"gpt-5\") failed: {REASON}"));

    let env = asking()?.model(&model()).start().await?;
    let run = env.run(Asking::run, Ask::model("gpt-5")).await?;
    let ended = run.history.events.iter().find_map(|event| match &event.attributes {
        Some(Attributes::WorkflowExecutionFailedEventAttributes(failed)) => failed.failure.clone(),
        _ => None,
    });
    let sentence = ended.expect("the workflow failed");
    assert_eq!(sentence.message, inline);
    let Some(FailureInfo::ApplicationFailureInfo(info)) = &sentence.failure_info else { panic!("{sentence:?}") };
    assert_eq!((&*info.r#type, info.non_retryable), ("AgentsWorkflowError", false));

    let activity = cause(&sentence);
    let Some(FailureInfo::ActivityFailureInfo(info)) = &activity.failure_info else { panic!("{activity:?}") };
    assert_eq!(RetryState::try_from(info.retry_state), Ok(RetryState::NonRetryableFailure));
    let reason = cause(activity);
    let Some(FailureInfo::ApplicationFailureInfo(info)) = &reason.failure_info else { panic!("{reason:?}") };
    assert_eq!((&*info.r#type, info.non_retryable), ("ModelInvocationError.Authentication", true));
    assert_eq!(reason.message, REASON);

    let printed = run.output().expect_err("the workflow failed").to_string();
    let first_line = printed.lines().next().unwrap_or_default();
    assert!(first_line.starts_with("Workflow failed: ") && first_line.contains(&inline), "{printed}");
    env.finish().await?;
    Ok(())
}

fn cause(failure: &Failure) -> &Failure {
    failure.cause.as_deref().expect("it has a cause")
}
