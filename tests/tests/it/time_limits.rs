//! Model calls end in time on every host: a provider that sends headers and nothing more, one that asks for a pause of days, and settings that
//! mean the same in a workflow, an inline run and an agentic session.

mod half_answer;

use std::{sync::Arc, time::Duration};

use rstest::rstest;
use temporal_agents::{
    Agent, RunError, RunFailure, Runner,
    agentic_session::AgenticSession,
    inline::InlineRunner,
    provider::ModelError,
    wire::{AgentRequest, ModelFailureKind, ModelRetryBackoff, ModelRetrySettings, ModelSettings},
    workflow::{AgentSet, AgentWorkflow},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel, SessionEnvironment,
    environment::ActivityOutcome,
    fake_model::{failure, text},
    session_environment::AttemptError,
};
use temporalio_macros::{activities, workflow, workflow_methods};
use temporalio_sdk::{
    WorkflowContext, WorkflowResult,
    activities::{ActivityContext, ActivityError},
};
use tokio::time::timeout;

use self::half_answer::HalfAnswer;

use crate::{PATIENCE, logs, rolling_deploys::warned::warnings_of};

/// One attempt of a fifth of a second.
fn hasty() -> Agent {
    asker(ModelSettings::builder().timeout(0.2).retry(ModelRetrySettings::builder().max_retries(0).build()).build())
}

fn asker(settings: ModelSettings) -> Agent {
    Agent::new("asker").model("gpt-5").settings(settings)
}

fn model_error(failure: &RunFailure) -> &ModelError {
    match &failure.error {
        RunError::Model { source, .. } => source.downcast_ref().expect("the failure of a provider"),
        error => panic!("{error}"),
    }
}

/// One attempt of ten seconds: the activity has a second of them to say that it was too slow.
fn patient() -> Agent {
    asker(ModelSettings::builder().timeout(10.0).retry(ModelRetrySettings::builder().max_retries(0).build()).build())
}

const EXCEEDED: &str =
    r#"model "gpt-5" did not answer agent "asker" within 200ms, the limit of ModelSettings::timeout"#;

#[tokio::test]
async fn an_inline_run_gives_up_a_model_that_sends_headers_only() -> anyhow::Result<()> {
    let server = HalfAnswer::start().await?;
    let runner = InlineRunner::new(server.provider());
    let failed = timeout(PATIENCE, runner.run(&hasty(), "hello")).await?.expect_err("there is no answer");
    let error = model_error(&failed);
    assert_eq!((error.kind, &*error.message), (ModelFailureKind::Timeout, EXCEEDED));
    Ok(())
}

/// An activity with a session in it.
struct Asks(InlineRunner);

#[activities]
impl Asks {
    #[activity]
    async fn ask(self: Arc<Self>, ctx: ActivityContext) -> Result<String, ActivityError> {
        AgenticSession::run(&ctx, async |session| {
            Ok(session.runner(&self.0).run(&hasty(), "hello").await?.final_output)
        })
        .await
    }
}

#[tokio::test]
async fn a_session_gives_up_a_model_that_sends_headers_only() -> anyhow::Result<()> {
    let server = HalfAnswer::start().await?;
    let runner = InlineRunner::new(server.provider());
    let env = SessionEnvironment::new().register_activities(move || Asks(runner.clone()));
    let attempt = timeout(PATIENCE, env.attempt().run(Asks::ask, ())).await?;
    let Err(AttemptError::Failed(failure)) = attempt.result else { panic!("{:?}", attempt.result) };
    // Another attempt of the activity makes the call again.
    let seen = (failure.type_name(), failure.is_non_retryable(), failure.to_string());
    assert_eq!(seen, (Some("ModelInvocationError.Timeout"), false, EXCEEDED.to_owned()));
    Ok(())
}

#[workflow]
#[derive(Default)]
struct Asking;

#[workflow_methods]
impl Asking {
    #[run(name = "hasty")]
    async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<String> {
        let failed = Runner::new(ctx).run(&patient(), "hello").await.expect_err("there is no answer");
        let RunError::Model { reason, .. } = failed.error else { panic!("{}", failed.error) };
        Ok(reason)
    }
}

#[tokio::test]
async fn a_workflow_is_told_which_limit_a_model_has_exceeded() -> anyhow::Result<()> {
    let server = HalfAnswer::start().await?;
    let env = AgentEnvironment::builder().workflow::<Asking>()?.model_provider(server.provider()).start().await?;
    let run = timeout(PATIENCE, env.run(Asking::run, ())).await??;
    let outcomes: Vec<_> = run.activities().into_iter().map(|record| record.outcome).collect();
    assert_eq!(outcomes, [ActivityOutcome::Failed("ModelInvocationError.Timeout".to_owned())]);
    assert_eq!(run.output()?, EXCEEDED.replace("200ms", "10s"));
    env.finish().await?;
    Ok(())
}

fn slow_to_answer() -> Agent {
    let retry = ModelRetrySettings::builder().max_retries(1).build();
    Agent::new("slow_to_answer").model("gpt-5").settings(ModelSettings::builder().timeout(1.0).retry(retry).build())
}

#[tokio::test]
async fn each_attempt_that_a_model_does_not_answer_in_time_is_one_warning() -> anyhow::Result<()> {
    logs::keep();
    let server = HalfAnswer::start().await?;
    let env = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(AgentSet::new((slow_to_answer,))))?
        .model_provider(server.provider())
        .agent(slow_to_answer)
        .start()
        .await?;
    let run = timeout(PATIENCE, env.run(AgentWorkflow::run, AgentRequest::new("slow_to_answer", "hello"))).await??;
    assert!(run.result.is_err(), "{:?}", run.result);
    env.finish().await?;
    let heard: Vec<_> = warnings_of("slow_to_answer")
        .into_iter()
        .map(|fields| {
            ["attempt", "next_pause", "kind", "error"].map(|name| fields.get(name).cloned().unwrap_or_default())
        })
        .collect();
    let error = r#"model "gpt-5" did not answer agent "slow_to_answer" within 1s, the limit of ModelSettings::timeout"#;
    assert_eq!(heard, [["1", "1s", "Timeout", error], ["2", "", "Timeout", error]]);
    Ok(())
}

#[rstest]
#[case::of_a_day(Duration::from_hours(24))]
#[case::that_never_ends(Duration::MAX)]
#[tokio::test]
async fn a_pause_beyond_the_time_of_the_call_fails_it_at_once(#[case] pause: Duration) -> anyhow::Result<()> {
    let model = FakeModel::script([failure(ModelFailureKind::RateLimit, "come back later").retry_after(pause)]);
    let runner = InlineRunner::new(model.clone());
    let agent = asker(ModelSettings::default());
    let failed = timeout(PATIENCE, runner.run(&agent, "hello")).await?.expect_err("it is too late then");
    let error = model_error(&failed);
    assert_eq!((error.kind, error.retry_after), (ModelFailureKind::RateLimit, Some(pause)));
    let (what, why) = error.message.split_once("; ").expect("a reason");
    assert_eq!(what, "come back later");
    assert!(why.starts_with("the next attempt would follow after 86400s, but all attempts"), "{why}");
    model.verify();
    Ok(())
}

#[rstest]
#[case::fewer(0, 1)]
#[case::as_many(2, 3)]
#[case::more(4, 5)]
#[tokio::test]
async fn an_inline_run_makes_as_many_attempts_as_the_settings_say(
    #[case] retries: u32,
    #[case] calls: usize,
) -> anyhow::Result<()> {
    let busy = FakeModel::function(|_, _| failure(ModelFailureKind::ServerError, "busy"));
    let backoff = ModelRetryBackoff::builder().initial_delay(0.001).build();
    let retry = ModelRetrySettings::builder().max_retries(retries).backoff(backoff).build();
    let runner = InlineRunner::new(busy.clone()).first_pause(PATIENCE);
    let agent = asker(ModelSettings::builder().retry(retry).build());
    timeout(PATIENCE, runner.run(&agent, "hello")).await?.expect_err("the model is busy");
    assert_eq!(busy.calls().len(), calls);
    Ok(())
}

#[tokio::test]
async fn answers_without_sense_are_asked_for_five_times_at_most() -> anyhow::Result<()> {
    let odd = FakeModel::function(|_, _| failure(ModelFailureKind::InvalidResponse, "<html>"));
    let backoff = ModelRetryBackoff::builder().initial_delay(0.001).max_delay(0.001).build();
    let retry = ModelRetrySettings::builder().max_retries(100).backoff(backoff).build();
    let runner = InlineRunner::new(odd.clone());
    let agent = asker(ModelSettings::builder().retry(retry).build());
    timeout(PATIENCE, runner.run(&agent, "hello")).await?.expect_err("the answers make no sense");
    assert_eq!(odd.calls().len(), 5);
    Ok(())
}

#[tokio::test]
async fn a_slow_answer_within_the_limit_is_taken() -> anyhow::Result<()> {
    let model = FakeModel::script([text("here").delayed(Duration::from_millis(50))]);
    let runner = InlineRunner::new(model);
    let answer = runner.run(&asker(ModelSettings::builder().timeout(20.0).build()), "hello").await?;
    assert_eq!(answer.final_output, "here");
    Ok(())
}
