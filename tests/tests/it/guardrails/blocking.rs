//! Blocking guardrails: nothing else happens before they have answered.

use rstest::rstest;
use temporal_agents::{Agent, RunConfig, agent::GuardrailOutput, guardrail};
use temporal_agents_testing::{FakeModel, fake_model::text};

use super::support::{MODEL, activities, done, failure, run, workflow_error};

const NO_ABUSE: &str = "agents.guardrail.no_abuse";
const SLOW: &str = "agents.guardrail.slow";

#[guardrail(input, activity, blocking)]
async fn no_abuse(input: &str) -> GuardrailOutput {
    GuardrailOutput::trip_if(input.contains("thieves"))
}

/// Beside the first turn.
#[guardrail(input, activity)]
async fn slow(_input: &str) -> GuardrailOutput {
    GuardrailOutput::trip()
}

#[guardrail(input, blocking)]
fn no_homework(input: &str) -> GuardrailOutput {
    GuardrailOutput::trip_if(input.contains("homework"))
}

#[guardrail(output, activity)]
async fn polite(output: &str) -> GuardrailOutput {
    GuardrailOutput::trip_if(output.contains("fool"))
}

pub(super) fn agent(case: &str) -> Agent {
    let agent = Agent::new("desk").model("gpt-5");
    match case {
        "blocking run" => agent,
        "blocking both" => agent.input_guardrail(slow).input_guardrail(no_abuse).input_guardrail(no_homework),
        _ => agent.input_guardrail(no_abuse).input_guardrail(no_homework),
    }
}

/// Guardrails of the run instead of the agent.
pub(super) fn config() -> RunConfig {
    let mut config = RunConfig::default();
    config.input_guardrails = vec![no_abuse.into()];
    config.output_guardrails = vec![polite.into()];
    config
}

#[rstest]
#[case::of_the_agent("blocking")]
#[case::beside_others("blocking both")]
#[case::of_the_run("blocking run")]
#[tokio::test]
async fn one_that_trips_is_all_there_is(
    #[case] case: &'static str,
    #[values(true, false)] cached: bool,
) -> anyhow::Result<()> {
    let run = run(case, "Where is my money, you thieves?", FakeModel::script([]), cached).await?;
    assert_eq!(activities(&run), [done(NO_ABUSE)]);
    assert_eq!(failure(&run), workflow_error("input guardrail \"no_abuse\" of agent \"desk\" tripped"));
    Ok(())
}

#[rstest]
#[tokio::test]
async fn a_pure_one_spares_the_activity_of_another(#[values(true, false)] cached: bool) -> anyhow::Result<()> {
    let run = run("blocking", "Do my homework.", FakeModel::script([]), cached).await?;
    assert_eq!(activities(&run), []);
    assert_eq!(failure(&run), workflow_error("input guardrail \"no_homework\" of agent \"desk\" tripped"));
    Ok(())
}

#[rstest]
#[tokio::test]
async fn the_first_turn_begins_when_it_has_passed(#[values(true, false)] cached: bool) -> anyhow::Result<()> {
    let run = run("blocking", "Hello.", FakeModel::script([text("hello")]), cached).await?;
    assert_eq!(activities(&run), [done(NO_ABUSE), done(MODEL)]);
    assert_eq!(run.output()?.0, "hello");
    Ok(())
}

#[rstest]
#[tokio::test]
async fn guardrails_of_the_run_are_asked_on_both_ends(#[values(true, false)] cached: bool) -> anyhow::Result<()> {
    let run = run("blocking run", "Hello.", FakeModel::script([text("hello, fool")]), cached).await?;
    assert_eq!(activities(&run), [done(NO_ABUSE), done(MODEL), done("agents.guardrail.polite")]);
    assert_eq!(failure(&run), workflow_error("output guardrail \"polite\" of agent \"desk\" tripped"));
    Ok(())
}

#[rstest]
#[tokio::test]
async fn those_beside_the_first_turn_are_asked_after_it(#[values(true, false)] cached: bool) -> anyhow::Result<()> {
    let run = run("blocking both", "Hello.", FakeModel::script([text("hello")]), cached).await?;
    let types: Vec<_> = run.activities().into_iter().map(|activity| activity.activity_type).collect();
    assert_eq!(types, [NO_ABUSE, MODEL, SLOW]);
    // By their place among all, not among those that are asked at the same time. Each id begins with the run's.
    let ids: Vec<_> = run
        .activities()
        .into_iter()
        .filter_map(|activity| Some(activity.activity_id.split_once('-')?.1.to_owned()))
        .collect();
    assert_eq!(ids, ["input-guardrail-1", "1-model", "input-guardrail-0"]);
    assert_eq!(failure(&run), workflow_error("input guardrail \"slow\" of agent \"desk\" tripped"));
    Ok(())
}
