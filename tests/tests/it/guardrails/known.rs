//! What guardrails know of the run: its context, whole or by key, the agent, and the states of the worker.

use rstest::rstest;
use serde_json::json;
use temporal_agents::{
    Agent, AgentsPlugin, Resources, RunConfig, RunContext, State,
    agent::{GuardrailContext, GuardrailOutput},
    guardrail,
    inline::InlineRunner,
    worker::InstallIssue,
};
use temporal_agents_testing::{FakeModel, fake_model::text};
use temporalio_sdk::WorkerOptions;

use super::support::{Gate, run};

#[guardrail(input)]
fn whole(_input: &str, run: &RunContext) -> GuardrailOutput {
    GuardrailOutput::pass().info(run.values())
}

#[guardrail(input, activity, context("user", "absent"))]
async fn by_key(State(_): State<Gate>, _input: &str, run: &RunContext, ctx: &GuardrailContext<'_>) -> GuardrailOutput {
    GuardrailOutput::pass().info((ctx.agent, run.values(), ctx.run.values()))
}

#[guardrail(output, activity, context("locale"))]
async fn at_the_end(_output: &str, run: &RunContext) -> GuardrailOutput {
    GuardrailOutput::pass().info(run.values())
}

pub(super) fn agent() -> Agent {
    Agent::new("desk").model("gpt-5").input_guardrail(whole).input_guardrail(by_key).output_guardrail(at_the_end)
}

pub(super) fn config() -> RunConfig {
    let mut config = RunConfig::default();
    config.set_context("user", "ada");
    config.set_context("locale", "no");
    config
}

fn expected() -> serde_json::Value {
    json!({
        "input": [
            {"guardrail": "whole", "tripwire_triggered": false, "output_info": {"user": "ada", "locale": "no"}},
            {"guardrail": "by_key", "tripwire_triggered": false, "output_info": ["desk", {"user": "ada"}, {"user": "ada"}]},
        ],
        "output": [{
            "guardrail": "at_the_end", "agent": "desk", "agent_output": "hello", "tripwire_triggered": false,
            "output_info": {"locale": "no"},
        }],
    })
}

#[rstest]
#[tokio::test]
async fn an_activity_gets_the_keys_that_it_names(#[values(true, false)] cached: bool) -> anyhow::Result<()> {
    let run = run("known", "Hello.", FakeModel::script([text("hello")]), cached).await?;
    assert_eq!(run.output()?, ("hello".to_owned(), expected()));
    Ok(())
}

#[test]
fn a_worker_without_the_state_of_a_guardrail_does_not_start() {
    let plugin = AgentsPlugin::default().without_models().agents((agent,));
    let refused = plugin.install(&mut WorkerOptions::new("agents").build()).unwrap_err();
    let state = std::any::type_name::<Gate>();
    assert_eq!(refused.issues, [InstallIssue::MissingState { tool: "by_key".to_owned(), state }]);
}

#[tokio::test]
async fn the_same_holds_without_a_workflow() -> anyhow::Result<()> {
    let model = FakeModel::script([text("hello")]);
    let runner = InlineRunner::with_config(Resources::new().model_provider(model).state(Gate::default()), config());
    let result = runner.run(&agent(), "Hello.").await?;
    assert_eq!(serde_json::to_value(&result.guardrails)?, expected());
    Ok(())
}
