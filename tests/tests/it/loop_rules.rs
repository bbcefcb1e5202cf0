//! Rules of the loop that show in what an author's functions are told and in what a run gives back; the hosts share them.

use rstest::rstest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use temporal_agents::{Agent, Handoff, RunError, ToolDef, agent::ToolUseBehavior, inline::InlineRunner};
use temporal_agents_core::wire::run_state::Phase;
use temporal_agents_testing::fake_model::{FakeModel, Reply, text, tool_call};

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
struct Plan {
    hours: u32,
}

fn agent(name: &str) -> Agent {
    Agent::new(name).model("gpt-5")
}

fn runner(replies: impl IntoIterator<Item = Reply>) -> InlineRunner {
    InlineRunner::new(FakeModel::script(replies))
}

#[rstest]
#[case::the_first(false, "basic", None)]
#[case::the_second(true, "vip", Some(true))]
#[tokio::test]
async fn of_two_handoffs_of_one_name_only_the_one_that_is_offered_is_taken(
    #[case] is_vip: bool,
    #[case] expected: &str,
    #[case] charged: Option<bool>,
) -> anyhow::Result<()> {
    let escalate = |to: &str, for_vips: bool| {
        let handoff = Handoff::to_agent(agent(to)).tool_name("escalate");
        handoff.enabled_when(move |run, _| run.get("vip").is_ok_and(|vip| vip == Some(for_vips)))
    };
    let charge_fee = escalate("vip", true).on_taken(|run| Ok(run.set("charged", true)?));
    let triage = agent("triage").handoff(escalate("basic", false)).handoff(charge_fee);
    let runner = runner([tool_call("escalate", json!({})), text("here")]).context("vip", is_vip);
    let result = runner.run(&triage, "Help!").await?;
    let was_charged = result.context.get("charged").and_then(serde_json::Value::as_bool);
    assert_eq!((&*result.last_agent, was_charged), (expected, charged));
    Ok(())
}

fn planner(output: &'static str) -> Agent<Plan> {
    let plan = ToolDef::inline("plan", "", move |_ctx, Nothing {}| Ok(output.into()));
    agent("planner").tool(plan).tool_use_behavior(ToolUseBehavior::StopOnFirstTool).output::<Plan>()
}

#[tokio::test]
async fn the_output_of_a_tool_ends_the_run_of_a_typed_agent() -> anyhow::Result<()> {
    let result = runner([tool_call("plan", json!({}))]).run(&planner(r#"{"hours": 3}"#), "Plan it.").await?;
    assert_eq!(result.final_output, Plan { hours: 3 });
    Ok(())
}

#[tokio::test]
async fn an_output_that_is_not_of_its_type_does_not_cost_the_state_of_the_run() {
    let runner = runner([tool_call("plan", json!({}))]);
    let failure = runner.run(&planner("later"), "Plan it.").await.expect_err("it is no plan");
    let RunError::OutputType { agent, .. } = &failure.error else { panic!("{failure}") };
    assert_eq!(agent, "planner");
    let state = failure.state.expect("the run has been made");
    assert_eq!((state.items.len(), state.usage.requests), (2, 1));
    assert_eq!(state.phase, Phase::Finished { output: json!("later") });
}

#[tokio::test]
async fn what_an_agent_used_as_a_tool_has_put_into_the_run_context_stays_when_it_fails() -> anyhow::Result<()> {
    let order = ToolDef::inline("order", "", |ctx, Nothing {}| {
        ctx.run_mut().set("order_id", 7)?;
        Ok("ordered".into())
    });
    let clerk = agent("clerk").tool(order).as_tool().max_turns(1);
    let runner =
        runner([tool_call("clerk", json!({"input": "Order it."})), tool_call("order", json!({})), text("sorry")]);
    let result = runner.run(&agent("desk").tool(clerk), "Order it.").await?;
    assert_eq!((&*result.final_output, &result.context["order_id"]), ("sorry", &json!(7)));
    Ok(())
}
