//! Output guardrails: asked about the final output.

use rstest::rstest;
use serde_json::json;
use temporal_agents::{Agent, ToolError, agent::GuardrailOutput, guardrail};
use temporal_agents_testing::{FakeModel, fake_model::text};

use super::support::{MODEL, activities, done, failure, run, workflow_error};

const NO_PROMISES: &str = "agents.guardrail.no_promises";

#[guardrail(output, activity)]
async fn no_promises(output: &str) -> Result<GuardrailOutput, ToolError> {
    Ok(GuardrailOutput::trip_if(output.contains("guarantee")).info(output.len()))
}

#[guardrail(output)]
fn polite(output: &str) -> GuardrailOutput {
    GuardrailOutput::trip_if(output.contains("fool"))
}

/// Looks at another type than the agent's.
#[guardrail(output)]
fn countable(output: u32) -> GuardrailOutput {
    GuardrailOutput::trip_if(output > 3)
}

pub(super) fn agent(case: &str) -> Agent {
    let agent = Agent::new("teller").model("gpt-5");
    match case {
        "output of another type" => agent.output_guardrail(countable),
        _ => agent.output_guardrail(no_promises).output_guardrail(polite),
    }
}

#[rstest]
#[tokio::test]
async fn one_in_an_activity_holds_the_output_back(#[values(true, false)] cached: bool) -> anyhow::Result<()> {
    let run = run("output", "How much?", FakeModel::script([text("we guarantee 5 percent")]), cached).await?;
    assert_eq!(activities(&run), [done(MODEL), done(NO_PROMISES)]);
    assert_eq!(failure(&run), workflow_error("output guardrail \"no_promises\" of agent \"teller\" tripped: 22"));
    Ok(())
}

#[rstest]
#[tokio::test]
async fn a_pure_one_spares_the_activity_of_another(#[values(true, false)] cached: bool) -> anyhow::Result<()> {
    let run = run("output", "How much?", FakeModel::script([text("nothing, fool")]), cached).await?;
    assert_eq!(activities(&run), [done(MODEL)]);
    assert_eq!(failure(&run), workflow_error("output guardrail \"polite\" of agent \"teller\" tripped"));
    Ok(())
}

#[rstest]
#[tokio::test]
async fn an_output_that_passes_is_the_result(#[values(true, false)] cached: bool) -> anyhow::Result<()> {
    let run = run("output", "How much?", FakeModel::script([text("5 percent")]), cached).await?;
    assert_eq!(activities(&run), [done(MODEL), done(NO_PROMISES)]);
    let (output, found) = run.output()?;
    assert_eq!(output, "5 percent");
    let found_of = |guardrail: &str, info: serde_json::Value| {
        let mut found = json!({
            "guardrail": guardrail, "agent": "teller", "agent_output": "5 percent", "tripwire_triggered": false,
        });
        if !info.is_null() {
            found["output_info"] = info;
        }
        found
    };
    let both = [found_of("no_promises", json!(9)), found_of("polite", serde_json::Value::Null)];
    assert_eq!(found, json!({"output": both}));
    Ok(())
}

#[rstest]
#[tokio::test]
async fn an_output_of_another_type_fails_the_run_by_name(#[values(true, false)] cached: bool) -> anyhow::Result<()> {
    let run = run("output of another type", "How many?", FakeModel::script([text("three")]), cached).await?;
    let words = "output guardrail \"countable\" of agent \"teller\" failed: the final output is not a u32: invalid \
                 type: string \"three\", expected u32";
    assert_eq!(failure(&run), workflow_error(words));
    Ok(())
}
