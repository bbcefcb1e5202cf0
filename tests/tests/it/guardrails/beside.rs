//! Guardrails in activities, beside the first turn: when one trips, what is under way is cancelled.

use std::time::Duration;

use rstest::rstest;
use serde_json::json;
use temporal_agents::{Agent, State, ToolContext, agent::GuardrailOutput, guardrail, tool};
use temporal_agents_testing::{
    FakeModel,
    environment::ActivityOutcome,
    fake_model::{text, tool_call},
};

use super::support::{
    Gate, Guarded, MODEL, activities, asked_to_stop, done, failed_tasks, failure, worker, workflow_error,
};
use crate::held_model::HeldModel;

const NO_ABUSE: &str = "agents.guardrail.no_abuse";
const DIG: &str = "agents.tool.dig";
const TRIPPED: &str = "input guardrail \"no_abuse\" of agent \"desk\" tripped";

/// Finds out as soon as the test wants it to.
#[guardrail(input, activity)]
async fn no_abuse(State(gate): State<Gate>, input: &str) -> GuardrailOutput {
    gate.pass().await;
    GuardrailOutput::trip_if(input.contains("thieves"))
}

/// Digs until it is told to stop.
#[tool(heartbeat = "1s", attempts = 1)]
async fn dig(State(gate): State<Gate>, ctx: &ToolContext) -> String {
    gate.reach();
    let mut look = tokio::time::interval(Duration::from_millis(20));
    while !ctx.is_cancelled() {
        look.tick().await;
    }
    "stopped".to_owned()
}

pub(super) fn agent(_case: &str) -> Agent {
    Agent::new("desk").model("gpt-5").tool(dig).input_guardrail(no_abuse)
}

fn input(question: &str) -> (String, String) {
    ("beside".to_owned(), question.to_owned())
}

#[rstest]
#[tokio::test]
async fn the_model_call_under_way_is_cancelled(#[values(true, false)] cached: bool) -> anyhow::Result<()> {
    let model = HeldModel::new(&FakeModel::script([]));
    let (builder, gate) = worker("beside", model.clone(), cached)?;
    let env = builder.start().await?;
    let handle = env.start_workflow(Guarded::run, input("Where is my money, you thieves?")).await?;
    model.asked().await?;
    gate.open();
    let run = env.await_run(&handle).await?;
    // The run does not wait for a model call that it has cancelled, so history ends before its end.
    assert_eq!(activities(&run), [(MODEL.to_owned(), ActivityOutcome::Pending), done(NO_ABUSE)]);
    assert_eq!(asked_to_stop(&run), 1);
    assert_eq!(failure(&run), workflow_error(TRIPPED));
    assert_eq!(failed_tasks(&run), [""; 0]);
    env.finish().await?;
    Ok(())
}

#[rstest]
#[tokio::test]
async fn tools_under_way_are_cancelled_and_awaited(#[values(true, false)] cached: bool) -> anyhow::Result<()> {
    let (builder, gate) = worker("beside", FakeModel::script([tool_call("dig", json!({}))]), cached)?;
    let env = builder.start().await?;
    let handle = env.start_workflow(Guarded::run, input("Where is my money, you thieves?")).await?;
    // The guardrail, and the tool.
    gate.reached().await?;
    gate.reached().await?;
    gate.open();
    let run = env.await_run(&handle).await?;
    let ended: Vec<_> = activities(&run);
    assert_eq!(ended[..2], [done(MODEL), done(NO_ABUSE)]);
    let (stopped, outcome) = &ended[2];
    assert_eq!(stopped, DIG);
    assert!(matches!(outcome, ActivityOutcome::Cancelled | ActivityOutcome::Completed), "awaited: {outcome:?}");
    assert_eq!(asked_to_stop(&run), 1);
    assert_eq!(failure(&run), workflow_error(TRIPPED));
    assert_eq!(failed_tasks(&run), [""; 0]);
    env.finish().await?;
    Ok(())
}

#[rstest]
#[tokio::test]
async fn the_turn_counts_once_the_guardrail_has_passed(#[values(true, false)] cached: bool) -> anyhow::Result<()> {
    let model = HeldModel::new(&FakeModel::script([text("it is on its way")]));
    let (builder, gate) = worker("beside", model.clone(), cached)?;
    let env = builder.start().await?;
    let handle = env.start_workflow(Guarded::run, input("Where is my money?")).await?;
    model.answer();
    gate.reached().await?;
    gate.open();
    let run = env.await_run(&handle).await?;
    assert_eq!(activities(&run), [done(MODEL), done(NO_ABUSE)]);
    assert_eq!(asked_to_stop(&run), 0);
    assert_eq!(failed_tasks(&run), [""; 0]);
    let found = json!({"input": [{"guardrail": "no_abuse", "tripwire_triggered": false}]});
    assert_eq!(run.output()?, ("it is on its way".to_owned(), found));
    env.finish().await?;
    Ok(())
}

#[rstest]
#[tokio::test]
async fn a_run_that_fails_by_itself_cancels_its_guardrails(#[values(true, false)] cached: bool) -> anyhow::Result<()> {
    use temporal_agents::wire::ModelFailureKind;
    use temporal_agents_testing::fake_model::failure as model_failure;

    let model = HeldModel::new(&FakeModel::script([model_failure(ModelFailureKind::Authentication, "no key")]));
    let (builder, gate) = worker("beside", model.clone(), cached)?;
    let env = builder.start().await?;
    let handle = env.start_workflow(Guarded::run, input("Where is my money?")).await?;
    gate.reached().await?;
    model.answer();
    let run = env.await_run(&handle).await?;
    assert_eq!(activities(&run)[1].0, NO_ABUSE);
    assert_eq!(asked_to_stop(&run), 1);
    assert_eq!(failed_tasks(&run), [""; 0]);
    assert!(run.output().is_err());
    env.finish().await?;
    Ok(())
}
