//! Errors that end the run, panics of what must not be repeated, and who waits for a run that ends.

use anyhow::Context;
use serde_json::json;
use temporal_agents::{
    Agent, RunError, Runner, Tool, ToolError, agent_handlers,
    inline::InlineRunner,
    tool,
    tool::{OUTCOME_UNKNOWN, OnToolError},
    workflow::AgentInbox,
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    fake_model::{text, tool_call},
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

/// Opens the safe.
#[tool]
async fn open(code: u32) -> Result<String, ToolError> {
    match code {
        0 => Err(ToolError::tell_model("the code has four digits")),
        _ => Err(ToolError::fail_run("the safe is on fire")),
    }
}

/// Opens the window.
#[tool(inline)]
fn air(wide: bool) -> Result<String, ToolError> {
    if wide { Err(ToolError::fail_run("it rains in")) } else { Ok("aired".to_owned()) }
}

/// Sends money.
#[tool(idempotent = false)]
async fn send() -> String {
    panic!("the line is dead")
}

fn guard() -> Agent {
    let tell = || OnToolError::tell(|_call, _failure| "nobody asks for this".to_owned());
    let guard = Agent::new("guard").model("gpt-5").tool(open.on_error(tell())).tool(air.on_error(tell()));
    guard.tool(send).tool(open.definition().named("open_with_leave").needs_approval())
}

#[workflow]
#[derive(Default)]
pub(crate) struct Guarding {
    inbox: AgentInbox,
}

#[agent_handlers]
#[workflow_methods]
impl Guarding {
    #[run(name = "guarding")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, request: String) -> WorkflowResult<String> {
        Ok(Runner::with_inbox(ctx).run(&guard(), request).await?.final_output)
    }
}

async fn environment(model: &FakeModel) -> anyhow::Result<AgentEnvironment> {
    let env = AgentEnvironment::builder().workflow::<Guarding>()?.model(model);
    Ok(env.agents((guard,)).start().await?)
}

#[tokio::test]
async fn an_error_may_end_the_run_beside_one_that_the_model_is_told() -> anyhow::Result<()> {
    let script = || FakeModel::script([tool_call("open", json!({"code": 0})), tool_call("open", json!({"code": 7}))]);
    let model = script();
    let env = environment(&model).await?;

    let run = env.run(Guarding::run, "Open it.".to_owned()).await?;

    let (type_name, message) = run.failure_chain().into_iter().next().context("the workflow fails")?;
    assert_eq!(type_name, "AgentsWorkflowError");
    assert!(message.contains("the safe is on fire"), "{message}");
    let attempts: Vec<i32> = run.activities().into_iter().map(|activity| activity.attempts).collect();
    assert_eq!(attempts, [1; 4], "two calls of the model, two of the tool");
    env.finish().await?;

    let inline = InlineRunner::new(script()).run(&guard(), "Open it.").await;
    let error = inline.expect_err("the run fails").error;
    assert!(matches!(&error, RunError::ToolFailed { tool, .. } if tool == "open"), "{error:?}");
    Ok(())
}

#[tokio::test]
async fn an_inline_tool_may_end_the_run() {
    let model = FakeModel::script([tool_call("air", json!({"wide": true}))]);
    let error = InlineRunner::new(model).run(&guard(), "Air.").await.expect_err("it rains in").error;
    assert!(
        matches!(&error, RunError::ToolFailed { tool, source, .. } if tool == "air" && source.to_string() == "it rains in")
    );
}

#[tokio::test]
async fn a_panic_of_what_must_not_be_repeated_does_not_invite_to_repeat_it() -> anyhow::Result<()> {
    let script = || FakeModel::script([tool_call("send", json!({})), text("I do not know.")]);
    let told = |model: &FakeModel| model.calls()[1].input.last().and_then(|item| item.get("output").cloned());
    let model = script();
    let env = environment(&model).await?;
    assert_eq!(env.run(Guarding::run, "Send.".to_owned()).await?.output()?, "I do not know.");
    assert_eq!(told(&model), Some(OUTCOME_UNKNOWN.into()));
    env.finish().await?;

    let model = script();
    InlineRunner::new(model.clone()).run(&guard(), "Send.").await?;
    assert_eq!(told(&model), Some(OUTCOME_UNKNOWN.into()));
    Ok(())
}

#[tokio::test]
async fn who_waits_for_a_question_hears_of_the_end_as_well() -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("open_with_leave", json!({"code": 7}))]);
    let env = environment(&model).await?;
    let started = env.start_workflow(Guarding::run, "Open it.".to_owned()).await?;
    let guarding = env.agent_handle(&started);

    let asked: Vec<String> = guarding.wait_for_interruptions().await?.into_iter().map(|call| call.id).collect();
    assert_eq!(asked, ["call_0_0"]);
    for call in asked {
        guarding.approve(call).await?;
    }
    assert_eq!(guarding.wait_for_interruptions().await?.len(), 0, "the run has failed, and asks nobody any more");

    assert!(env.await_run(&started).await?.output().is_err());
    env.finish().await?;
    Ok(())
}
