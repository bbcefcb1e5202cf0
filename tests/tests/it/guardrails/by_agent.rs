//! Guardrails that ask an agent, in a run of its own.

use rstest::rstest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use temporal_agents::{
    Agent,
    agent::{GuardrailOutput, InputGuardrail, OutputGuardrail},
};
use temporal_agents_testing::{
    FakeModel,
    environment::ActivityOutcome,
    fake_model::{structured, text},
};

use super::support::{
    Guarded, MODEL, activities, asked_to_stop, done, failed_tasks, failure, run, worker, workflow_error,
};
use crate::held_model::HeldModel;

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
struct Topic {
    is_banking: bool,
    subject: String,
}

fn topic(subject: &str) -> Topic {
    Topic { is_banking: subject == "savings", subject: subject.to_owned() }
}

fn judge() -> Agent<Topic> {
    Agent::new("judge").model("gpt-5-nano").instructions("Say what it is about.").output::<Topic>()
}

pub(super) fn agent(case: &str) -> Agent {
    let agent = Agent::new("teller").model("gpt-5");
    let verdict =
        |topic: &serde_json::Value| GuardrailOutput::trip_if(topic["is_banking"] != true).info(&topic["subject"]);
    match case {
        "by_agent blocking" => {
            agent.input_guardrail(InputGuardrail::by_agent("about_banking", judge(), verdict).blocking())
        }
        "by_agent output" => agent.output_guardrail(OutputGuardrail::by_agent("about_banking", judge(), verdict)),
        "by_agent panics" => {
            let judged = InputGuardrail::by_agent("about_banking", judge(), |_| panic!("no verdict today"));
            agent.input_guardrail(judged.blocking())
        }
        _ => agent.input_guardrail(InputGuardrail::by_agent("about_banking", judge(), verdict)),
    }
}

/// The judge finds this; the teller says that.
fn model(subject: &'static str, said: &'static str) -> FakeModel {
    FakeModel::function(move |call, _| if call.agent == "judge" { structured(&topic(subject)) } else { text(said) })
}

const TRIPPED: &str = "input guardrail \"about_banking\" of agent \"teller\" tripped: poetry";

#[rstest]
#[tokio::test]
async fn a_blocking_judge_spares_the_other_model(#[values(true, false)] cached: bool) -> anyhow::Result<()> {
    let model = model("poetry", "never");
    let run = run("by_agent blocking", "A poem!", model.clone(), cached).await?;
    assert_eq!(activities(&run), [done(MODEL)]);
    assert_eq!(failure(&run), workflow_error(TRIPPED));
    let asked: Vec<_> = model.calls().into_iter().map(|call| (call.agent, call.model, call.input[0].text())).collect();
    assert_eq!(asked, [("judge".to_owned(), "gpt-5-nano".to_owned(), Some("A poem!".to_owned()))]);
    Ok(())
}

#[rstest]
#[tokio::test]
async fn a_judge_beside_the_first_turn_cancels_its_model_call(
    #[values(true, false)] cached: bool,
) -> anyhow::Result<()> {
    let model = HeldModel::of_agent(&model("poetry", "never"), "teller");
    let env = worker("by_agent", model, cached)?.0.start().await?;
    let run = env.run(Guarded::run, ("by_agent".to_owned(), "A poem!".to_owned())).await?;
    let mut ended: Vec<_> = activities(&run).into_iter().map(|(_, outcome)| outcome).collect();
    ended.sort_by_key(|outcome| *outcome == ActivityOutcome::Pending);
    assert_eq!(ended, [ActivityOutcome::Completed, ActivityOutcome::Pending], "judge, and teller");
    assert_eq!(asked_to_stop(&run), 1);
    assert_eq!(failed_tasks(&run), [""; 0]);
    assert_eq!(failure(&run), workflow_error(TRIPPED));
    env.finish().await?;
    Ok(())
}

#[rstest]
#[tokio::test]
async fn a_judge_that_lets_pass_is_reported(#[values(true, false)] cached: bool) -> anyhow::Result<()> {
    let run = run("by_agent", "My savings?", model("savings", "5 percent"), cached).await?;
    assert_eq!(activities(&run), [done(MODEL), done(MODEL)]);
    let found = json!({"guardrail": "about_banking", "tripwire_triggered": false, "output_info": "savings"});
    assert_eq!(run.output()?, ("5 percent".to_owned(), json!({"input": [found]})));
    Ok(())
}

#[rstest]
#[tokio::test]
async fn a_judge_of_outputs_sees_the_output(#[values(true, false)] cached: bool) -> anyhow::Result<()> {
    let model = model("poetry", "Roses are red.");
    let run = run("by_agent output", "My savings?", model.clone(), cached).await?;
    assert_eq!(activities(&run), [done(MODEL), done(MODEL)]);
    let tripped = "output guardrail \"about_banking\" of agent \"teller\" tripped: poetry";
    assert_eq!(failure(&run), workflow_error(tripped));
    assert_eq!(model.calls()[1].input[0].text(), Some("Roses are red.".to_owned()));
    Ok(())
}

#[rstest]
#[tokio::test]
async fn a_verdict_that_panics_fails_the_run_by_name(#[values(true, false)] cached: bool) -> anyhow::Result<()> {
    let run = run("by_agent panics", "A poem!", model("poetry", "never"), cached).await?;
    let words = "input guardrail \"about_banking\" of agent \"teller\" panicked: no verdict today";
    assert_eq!(failure(&run), workflow_error(words));
    Ok(())
}
