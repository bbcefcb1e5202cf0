//! The same call, made again and again with arguments that do not fit, ends the run.

use anyhow::Context;
use rstest::rstest;
use serde_json::json;
use temporal_agents::{
    Agent, RunError, Runner, Tool,
    inline::InlineRunner,
    run::{PausedRun, RunOutcome},
    tool,
    wire::{Decision, RunState},
};
use temporal_agents_testing::{
    FakeModel,
    fake_model::{text, tool_call, tool_calls},
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

use crate::examples::{Cache, histories};

/// Weighs a parcel.
#[tool]
async fn weigh(grams: u32) -> String {
    format!("{grams} g")
}

/// The time.
#[tool(inline)]
fn time() -> String {
    "noon".to_owned()
}

/// Sends a parcel.
#[tool(inline)]
fn send(grams: u32) -> String {
    format!("sent {grams} g")
}

fn clerk() -> Agent {
    Agent::new("clerk").model("gpt-5").tool(weigh).tool(time).tool(send.needs_approval())
}

/// Calls a tool with arguments that the schema accepts and the type does not, and another tool in between.
fn stubborn() -> FakeModel {
    let wrong = || ("weigh", json!({"grams": 1_u64 << 40}));
    FakeModel::script([
        tool_calls([wrong(), ("time", json!({}))]),
        tool_calls([("time", json!({})), wrong()]),
        tool_calls([wrong()]),
    ])
}

const MESSAGE: &str = "the model called tool \"weigh\" 3 times in a row with the same arguments, which do not fit: Invalid \
                       JSON input for tool weigh: grams: fails value, allowed: \"an integer from 0 to 4294967295\" \
                       (agent \"clerk\", turn 3)";

#[tokio::test]
async fn third_same_call_ends_an_inline_run() {
    let model = stubborn();
    let error = InlineRunner::new(model.clone()).run(&clerk(), "Go.").await.expect_err("it ends").error;
    assert_eq!(error.to_string(), MESSAGE);
    let RunError::SameCallRefused { agent, turn, tool, field, .. } = error else { panic!("{error:?}") };
    assert_eq!((&*agent, turn, &*tool, &*field), ("clerk", 3, "weigh", "grams"));
    assert_eq!(model.calls().len(), 3);
}

#[tokio::test]
async fn run_goes_on_if_the_model_writes_other_arguments() -> anyhow::Result<()> {
    let wrong = || tool_call("weigh", json!({"grams": "much"}));
    let model = FakeModel::script([
        wrong(),
        wrong(),
        tool_call("weigh", json!({"grams": 7})),
        wrong(),
        wrong(),
        tool_call("weigh", json!({"grams": "more"})),
        wrong(),
        text("done"),
    ]);
    assert_eq!(InlineRunner::new(model).run(&clerk(), "Go.").await?.final_output, "done");
    Ok(())
}

#[tokio::test]
async fn count_is_part_of_a_paused_state() -> anyhow::Result<()> {
    let wrong = || tool_call("send", json!({"grams": -1}));
    let runner = InlineRunner::new(FakeModel::script([wrong(), wrong(), wrong()]));
    let mut outcome = runner.run(&clerk(), "Go.").until_paused().await;
    for _ in 0..3 {
        let RunOutcome::Paused(PausedRun { mut state, .. }) = outcome? else { panic!("it waits") };
        let waiting = state.interruptions().remove(0).id;
        state.decide(&waiting, Decision::approve())?;
        let carried: RunState = serde_json::from_str(&serde_json::to_string(&state)?)?;
        outcome = runner.run(&clerk(), carried).until_paused().await;
    }
    let error = outcome.expect_err("the third approved call ends the run").error;
    assert!(matches!(&error, RunError::SameCallRefused { tool, turn: 3, .. } if tool == "send"), "{error}");
    Ok(())
}

#[workflow]
#[derive(Default)]
pub(crate) struct Stubborn;

#[workflow_methods]
impl Stubborn {
    #[run(name = "stubborn")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<String> {
        Ok(Runner::new(ctx).run(&clerk(), "Go.").await?.final_output)
    }
}

#[rstest]
#[tokio::test]
async fn third_same_call_ends_a_workflow_and_replays(
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let model = stubborn();
    let env = cache.environment::<Stubborn>()?.model(&model).agents((clerk,)).start().await?;
    let run = env.run(Stubborn::run, ()).await?;
    histories::<Stubborn>(&env, &run.workflow_id).await?;
    let (type_name, message) = run.failure_chain().into_iter().next().context("the workflow fails")?;
    assert_eq!((&*type_name, &*message), ("AgentsWorkflowError", MESSAGE));
    assert_eq!(model.calls().len(), 3);
    env.finish().await?;
    Ok(())
}
