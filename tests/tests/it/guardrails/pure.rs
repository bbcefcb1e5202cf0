//! Pure guardrails beside the first turn: asked before its model call is scheduled.

use rstest::rstest;
use serde_json::json;
use temporal_agents::{Agent, RunContext, agent::GuardrailOutput, guardrail};
use temporal_agents_testing::{FakeModel, fake_model::text};

use super::support::{MODEL, activities, done, failure, run, workflow_error};

#[guardrail(input)]
fn no_homework(input: &str) -> GuardrailOutput {
    GuardrailOutput::trip_if(input.contains("homework")).info("school")
}

/// Trips whenever it is asked.
#[guardrail(input)]
fn never(_input: &str) -> GuardrailOutput {
    GuardrailOutput::trip()
}

/// Would be asked in an activity.
#[guardrail(input, activity)]
async fn elsewhere(_input: &str) -> GuardrailOutput {
    GuardrailOutput::pass()
}

#[guardrail(input)]
fn short(input: &str, run: &RunContext) -> GuardrailOutput {
    GuardrailOutput::trip_if(input.len() > 100 && run.values().is_empty())
}

pub(super) fn agent(case: &str) -> Agent {
    let agent = Agent::new("desk").model("gpt-5").input_guardrail(short);
    match case {
        "pure first" => agent.input_guardrail(elsewhere).input_guardrail(no_homework).input_guardrail(never),
        _ => agent.input_guardrail(no_homework),
    }
}

#[rstest]
#[tokio::test]
async fn one_that_trips_costs_no_model_call(#[values(true, false)] cached: bool) -> anyhow::Result<()> {
    let run = run("pure", "Do my homework.", FakeModel::script([]), cached).await?;
    assert_eq!(activities(&run), []);
    assert_eq!(failure(&run), workflow_error("input guardrail \"no_homework\" of agent \"desk\" tripped: school"));
    Ok(())
}

#[rstest]
#[tokio::test]
async fn the_first_that_trips_counts_and_nothing_else_is_begun(
    #[values(true, false)] cached: bool,
) -> anyhow::Result<()> {
    let run = run("pure first", "Do my homework.", FakeModel::script([]), cached).await?;
    assert_eq!(activities(&run), []);
    assert_eq!(failure(&run), workflow_error("input guardrail \"no_homework\" of agent \"desk\" tripped: school"));
    Ok(())
}

#[rstest]
#[tokio::test]
async fn those_that_pass_are_reported_with_the_result(#[values(true, false)] cached: bool) -> anyhow::Result<()> {
    let run = run("pure", "How are you?", FakeModel::script([text("fine")]), cached).await?;
    assert_eq!(activities(&run), [done(MODEL)]);
    let found = json!({"input": [
        {"guardrail": "short", "tripwire_triggered": false},
        {"guardrail": "no_homework", "tripwire_triggered": false, "output_info": "school"},
    ]});
    assert_eq!(run.output()?, ("fine".to_owned(), found));
    Ok(())
}
