//! What an activity fails with whose session's body fails with errors of its own.

use std::io;

use anyhow::anyhow;
use rstest::rstest;
use temporal_agents::worker::agentic_session::{AgenticSession, AgenticSessionError};
use temporal_agents_testing::SessionEnvironment;
use temporalio_macros::activities;
use temporalio_sdk::activities::{ActivityContext, ActivityError};

fn keep() -> anyhow::Result<()> {
    Err(anyhow!("the disk is full").context("cannot keep the report"))
}

/// Fails.
struct Grumbler;

#[activities]
impl Grumbler {
    #[activity]
    async fn grumble(ctx: ActivityContext, how: String) -> Result<(), ActivityError> {
        AgenticSession::run(&ctx, async |_session| match &*how {
            "an error" => Err(io::Error::other("the disk is full"))?,
            "anyhow" => keep().map_err(AgenticSessionError::other),
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
