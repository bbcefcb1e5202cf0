//! Activities with sessions run as plain async Rust: no server, no worker, no time that passes.

mod approvals;
mod failures;
mod guardrails;
mod one_conversation;
mod refused_runs;
mod review;

use std::collections::BTreeSet;

use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{
    Resources,
    agentic_session::{AgenticSession, AgenticSessionOptions, Heartbeats},
    inline::InlineRunner,
    wire::{Item, ModelCall, SessionCheckpoint},
};
use temporal_agents_testing::{SessionEnvironment, fake_model::CrashAfterTurns, session_environment::AttemptError};
use temporalio_sdk::testing::ActivityEnvironment;

use self::review::{MODEL_CALLS, Reviews, STEPS, environment, model, review, steps, tools};
use super::{
    cancelled::{self, Silent, Told, until},
    desk::Desk,
    kept::model_answers,
    stored::Shelf,
};

/// How often a session makes a call of a model before its attempt fails.
const CRASHED_CALLS: usize = 3;

fn diff() -> String {
    "Review a.rs and b.rs.".to_owned()
}

/// Whose turn it is, how many answers of the model there are, and which steps were taken.
fn point(checkpoint: &SessionCheckpoint) -> (&str, usize, usize) {
    let state = checkpoint.runs.first().and_then(|run| run.state.as_deref());
    (state.map_or("", |state| &state.agent), model_answers(checkpoint), checkpoint.results.len())
}

#[tokio::test]
async fn an_attempt_goes_on_from_each_checkpoint_and_does_nothing_again() -> anyhow::Result<()> {
    let (model, tools) = (model(), tools());
    let env = environment(model.clone(), &tools, AgenticSession::options());
    let first = env.attempt().run(Reviews::review, diff()).await;
    assert_eq!(first.result?, review());
    let mut points: Vec<_> = first.checkpoints.iter().map(point).collect();
    points.dedup();
    let expected = [
        ("reviewer", 0, 0),
        ("reviewer", 1, 0),
        ("reviewer", 1, 1),
        ("reviewer", 1, 2),
        ("editor", 2, 2),
        ("editor", 3, 2),
        ("editor", 3, 3),
        ("editor", 4, 3),
    ];
    assert_eq!(points, expected);

    for checkpoint in &first.checkpoints {
        let (asked, called) = (model.calls().len(), tools.attempts().len());
        let next = env.attempt_from(checkpoint)?.run(Reviews::review, diff()).await;
        assert_eq!(next.result?, review(), "from {:?}", point(checkpoint));
        let since = tools.attempts().split_off(called);
        assert_eq!(
            (model.calls().len() - asked, steps(&since)),
            (MODEL_CALLS - model_answers(checkpoint), STEPS[checkpoint.results.len()..].to_vec()),
            "from {:?}",
            point(checkpoint)
        );
    }
    let attempts = tools.attempts();
    let keys: BTreeSet<_> = attempts.iter().map(|called| called.call.idempotency_key()).collect();
    assert_eq!(keys.len(), STEPS.len(), "each call has one key in all attempts");
    Ok(())
}

#[tokio::test]
async fn an_attempt_that_finds_no_heartbeat_begins_anew() -> anyhow::Result<()> {
    let (model, tools) = (model(), tools());
    let env = environment(model.clone(), &tools, AgenticSession::options());
    for attempt in 1..=2 {
        assert_eq!(env.attempt().run(Reviews::review, diff()).await.result?, review());
        assert_eq!((model.calls().len(), tools.attempts().len()), (attempt * MODEL_CALLS, attempt * STEPS.len()));
    }
    Ok(())
}

#[rstest]
#[case::a_text(json!("no checkpoint"))]
#[case::a_number(json!(7))]
#[case::another_object(json!({"page": 3}))]
#[case::another_major_version(json!({"format": "temporal-agents/session", "version": {"major": 9, "minor": 0}}))]
#[tokio::test]
async fn an_attempt_that_finds_no_checkpoint_begins_anew(#[case] details: Value) -> anyhow::Result<()> {
    let (model, tools) = (model(), tools());
    let env = environment(model.clone(), &tools, AgenticSession::options());
    assert_eq!(env.attempt_from(&details)?.run(Reviews::review, diff()).await.result?, review());
    assert_eq!((model.calls().len(), steps(&tools.attempts())), (MODEL_CALLS, STEPS.to_vec()));
    Ok(())
}

#[tokio::test]
async fn an_attempt_goes_on_with_the_conversation_of_the_proposal() -> anyhow::Result<()> {
    let (model, tools) = (model(), tools());
    let env = environment(model.clone(), &tools, AgenticSession::options());
    let messages = json!([{"role": "user", "content": "What came before."}]);
    let details = json!({"version": 1, "messages": messages, "results": ["c.rs"]});
    let finished = env.attempt_from(&details)?.run(Reviews::review, diff()).await;
    assert_eq!(serde_json::to_value(finished.result?)?["steps"], json!(["c.rs", "a.rs", "b.rs", "weighed"]));
    let given = |call: &ModelCall| call.input.iter().map(Item::to_value).collect::<Vec<_>>();
    assert_eq!(model.calls().first().map(given), messages.as_array().cloned());
    Ok(())
}

#[rstest]
#[case::by_default(AgenticSession::options())]
#[case::sent_at_once(AgenticSession::options().heartbeats(Heartbeats::Direct))]
#[case::throttled(AgenticSession::options().heartbeats(Heartbeats::Throttled))]
#[tokio::test]
async fn a_session_runs_in_the_activity_environment_of_the_sdk(
    #[case] options: AgenticSessionOptions,
) -> anyhow::Result<()> {
    let env = ActivityEnvironment::builder().register_activities(Reviews::new(model(), &tools(), &options)).build();
    assert_eq!(env.run(Reviews::review, diff()).await?, review());
    Ok(())
}

#[rstest]
#[tokio::test]
async fn a_session_whose_model_crashes_goes_on_in_the_next_attempt(
    #[values(0, 1, 2, 3)] turns: usize,
) -> anyhow::Result<()> {
    let (model, tools) = (CrashAfterTurns::new(turns, model()).lasting(CRASHED_CALLS), tools());
    let env = environment(model.clone(), &tools, AgenticSession::options());
    let crashed = env.attempt().run(Reviews::review, diff()).await;
    let error = crashed.result.expect_err("its model has crashed");
    assert_eq!(error.to_string(), format!("the attempt failed: simulated crash after {turns} turns"));
    let AttemptError::Failed(failure) = error else { panic!("{error}") };
    assert_eq!((failure.type_name(), failure.is_non_retryable()), (Some("ModelInvocationError.Connection"), false));

    let last = crashed.checkpoints.last().expect("it has written one");
    assert_eq!(env.attempt_from(last)?.run(Reviews::review, diff()).await.result?, review());
    assert_eq!((model.calls(), steps(&tools.attempts())), (MODEL_CALLS + CRASHED_CALLS, STEPS.to_vec()));
    Ok(())
}

#[tokio::test]
async fn a_model_call_of_a_cancelled_attempt_is_dropped() -> anyhow::Result<()> {
    let told = Told::nothing();
    let desk =
        cancelled::desk(InlineRunner::new(Resources::new().model_provider(Silent(told.clone())).state(told.clone())));
    let env = SessionEnvironment::new().register_activities(move || desk.clone());
    let attempt = env.attempt();
    let cancellation = attempt.cancellation_token();
    let cancel = async {
        until(&told.begun).await?;
        cancellation.cancel();
        until(&told.ended).await
    };
    let (finished, cancelled) = tokio::join!(attempt.run(Desk::work, Value::Null), cancel);
    cancelled?;
    assert!(matches!(finished.result, Err(AttemptError::Cancelled)), "{:?}", finished.result);
    let left: Vec<_> = finished.checkpoints.iter().map(point).collect();
    assert_eq!(left, [("digger", 0, 0)]);
    Ok(())
}

#[tokio::test]
async fn an_attempt_that_is_cancelled_before_it_runs_calls_no_model() {
    let (model, tools) = (model(), tools());
    let env = environment(model.clone(), &tools, AgenticSession::options());
    let attempt = env.attempt();
    attempt.cancellation_token().cancel();
    let finished = attempt.run(Reviews::review, diff()).await;
    assert!(matches!(finished.result, Err(AttemptError::Cancelled)), "{:?}", finished.result);
    assert_eq!(model.calls().len(), 0);
}

#[tokio::test]
async fn a_heartbeat_that_says_where_its_checkpoint_is_kept_is_gone_on_from() -> anyhow::Result<()> {
    let (model, tools) = (CrashAfterTurns::new(2, model()).lasting(CRASHED_CALLS), tools());
    let options = AgenticSession::options().checkpoint_store(Shelf::default()).spill_over(0);
    let env = environment(model.clone(), &tools, options);
    let crashed = env.attempt().run(Reviews::review, diff()).await;
    assert!(crashed.result.is_err(), "its model has crashed");
    assert_eq!(crashed.checkpoints, []);
    let last = crashed.heartbeats.last().expect("there is one");
    assert_eq!(env.attempt_from(last)?.run(Reviews::review, diff()).await.result?, review());
    assert_eq!((model.calls(), steps(&tools.attempts())), (MODEL_CALLS + CRASHED_CALLS, STEPS.to_vec()));
    Ok(())
}

#[tokio::test]
async fn attempts_are_counted_and_know_what_they_are() -> anyhow::Result<()> {
    let desk = || {
        Desk::new(|ctx, _| async move {
            let info = ctx.info();
            Ok(json!([info.attempt, info.activity_type, info.workflow_id, info.heartbeat_timeout.is_some()]))
        })
    };
    let env = SessionEnvironment::new().register_activities(desk);
    let nothing = Value::Null;
    assert_eq!(env.attempt_from(&7)?.run(Desk::work, nothing.clone()).await.result?[0], 2, "there was one before it");
    assert_eq!(env.attempt().run(Desk::work, nothing.clone()).await.result?, json!([3, "Desk::work", "test", true]));

    let order = SessionEnvironment::new().info(|info| info.workflow_id = Some("order-7".to_owned()));
    let env = order.register_activities(desk);
    assert_eq!(env.attempt().run(Desk::work, nothing).await.result?, json!([1, "Desk::work", "order-7", true]));
    Ok(())
}

#[tokio::test]
async fn an_activity_without_an_instance_is_told_by_name() {
    let error = SessionEnvironment::new().attempt().run(Desk::work, Value::Null).await.result.expect_err("no instance");
    let expected = "activity \"Desk::work\" has no instance to run with; add .register_activities(|| ..) to the SessionEnvironment";
    assert_eq!(error.to_string(), expected);
}
