//! What an activity fails with whose session's body fails with errors of its own.

use std::io;

use anyhow::anyhow;
use rstest::rstest;
use temporal_agents::{
    Agent, RunFailure,
    agent::GuardrailOutput,
    agentic_session::{AgenticSession, AgenticSessionError},
    guardrail,
    inline::InlineRunner,
};
use temporal_agents_testing::{SessionEnvironment, session_environment::AttemptError};
use temporalio_macros::activities;
use temporalio_sdk::activities::{ActivityContext, ActivityError};

fn keep() -> anyhow::Result<()> {
    Err(anyhow!("the disk is full").context("cannot keep the report"))
}

#[guardrail(input)]
fn never(_input: &str) -> GuardrailOutput {
    GuardrailOutput::trip()
}

/// A run that is refused, every time.
async fn refused(session: &AgenticSession) -> anyhow::Result<()> {
    session
        .runner(&InlineRunner::default())
        .run(&Agent::new("clerk").model("gpt-5").input_guardrail(never), "Hello.")
        .await?;
    Ok(())
}

/// Fails.
struct Grumbler;

#[activities]
impl Grumbler {
    #[activity]
    async fn grumble(ctx: ActivityContext, how: String) -> Result<(), ActivityError> {
        AgenticSession::run(&ctx, async |session| match &*how {
            "an error" => Err(io::Error::other("the disk is full"))?,
            "anyhow" => keep().map_err(AgenticSessionError::other),
            "a run in anyhow" => refused(&session).await.map_err(|error| {
                error.downcast::<RunFailure>().map_or_else(AgenticSessionError::other, AgenticSessionError::from)
            }),
            text => Err(AgenticSessionError::other(text)),
        })
        .await
    }
}

#[rstest]
#[case::an_error("an error", "the attempt failed: the disk is full")]
#[case::an_error_of_anyhow("anyhow", "the attempt failed: cannot keep the report: the disk is full")]
#[case::a_text("nobody is in", "the attempt failed: nobody is in")]
#[tokio::test]
async fn an_attempt_fails_with_what_the_body_fails_with(#[case] how: &str, #[case] expected: &str) {
    let env = SessionEnvironment::new().register_activities(|| Grumbler);
    let failed = env.attempt().run(Grumbler::grumble, how.to_owned()).await.result.expect_err("it grumbles");
    assert_eq!(failed.to_string(), expected);
}

#[tokio::test]
async fn a_failed_run_that_anyhow_gives_back_is_not_tried_again() {
    let env = SessionEnvironment::new().register_activities(|| Grumbler);
    let failed =
        env.attempt().run(Grumbler::grumble, "a run in anyhow".to_owned()).await.result.expect_err("it is refused");
    let AttemptError::Failed(failure) = failed else { panic!("{failed}") };
    assert_eq!((failure.type_name(), failure.is_non_retryable()), (Some("AgenticSessionError"), true));
}
