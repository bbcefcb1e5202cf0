//! Calls that a person approves with other arguments.

use rstest::rstest;
use serde::Deserialize;
use serde_json::json;
use temporal_agents::{
    Agent, Runner, ToolDef,
    gate::{Gate, GateMode, Rule, RuleDecision},
    inline::InlineRunner,
    run::{PausedRun, RunOutcome},
    wire::{Decision, RunState},
};
use temporal_agents_testing::{
    FakeModel,
    fake_model::{text, tool_calls},
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

use super::outputs;
use crate::examples::{Cache, histories};

/// Pauses at each call, and has it made with other arguments.
#[workflow]
#[derive(Default)]
pub(crate) struct Edited;

#[workflow_methods]
impl Edited {
    #[run(name = "edited")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<Vec<String>> {
        let runner = Runner::new(ctx).gate(edit_gate());
        let RunOutcome::Paused(PausedRun { state, .. }) = runner.run(&editor(), "Write.").until_paused().await? else {
            panic!("it waits")
        };
        let result = runner.run(&editor(), edited(state)).await?;
        Ok(outputs(&result.to_input_list()))
    }
}

fn edit_gate() -> Gate {
    let mut deny = Rule::new("secret", RuleDecision::Deny);
    deny.pattern.push_str("secret");
    Gate::new(GateMode::ApproveEach).rules([deny])
}

fn editor() -> Agent {
    #[derive(Deserialize, schemars::JsonSchema)]
    struct Path {
        path: String,
    }
    let write = ToolDef::inline("write_file", "Writes.", |_ctx, Path { path }| Ok(format!("wrote {path}").into()));
    Agent::new("editor").model("gpt-5").tool(write)
}

fn editing_model() -> FakeModel {
    let calls = ["a", "b", "c"].map(|path| ("write_file", json!({"path": path})));
    FakeModel::script([tool_calls(calls), text("done")])
}

/// The first call writes elsewhere, the second where it must not, the third nowhere.
fn edited(mut state: RunState) -> RunState {
    let arguments = [json!({"path": "elsewhere"}), json!({"path": "secret"}), json!({"file": "c"})];
    for (call, arguments) in state.interruptions().into_iter().zip(arguments) {
        let arguments = arguments.as_object().expect("an object").clone();
        state.decide(&call.id, Decision::approve_with(arguments)).expect("it waits");
    }
    state
}

fn check_edited(outputs: &[String], model: &FakeModel) {
    assert_eq!(outputs[0], "wrote elsewhere");
    assert!(outputs[1].starts_with("[blocked by command policy]"), "{}", outputs[1]);
    assert_eq!(outputs[2], r#"Invalid JSON input for tool write_file: path: missing, allowed: "string""#);
    // The conversation has the call as the model wrote it.
    let last = model.calls().pop().expect("the model was asked");
    assert!(json!(last.input).to_string().contains(r#"{\"path\":\"a\"}"#), "{:?}", last.input);
}

#[rstest]
#[tokio::test]
async fn edited_arguments_pass_gate_and_schema_in_a_workflow(
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let model = editing_model();
    let env = cache.environment::<Edited>()?.model(&model).agents((editor,)).start().await?;
    let run = env.run(Edited::run, ()).await?;
    histories::<Edited>(&env, &run.workflow_id).await?;
    check_edited(&run.output()?, &model);
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn edited_arguments_pass_gate_and_schema_inline() -> anyhow::Result<()> {
    let model = editing_model();
    let runner = InlineRunner::new(model.clone()).gate(edit_gate());
    let RunOutcome::Paused(PausedRun { state, .. }) = runner.run(&editor(), "Write.").until_paused().await? else {
        panic!("it waits")
    };
    let result = runner.run(&editor(), edited(state)).await?;
    check_edited(&outputs(&result.to_input_list()), &model);
    Ok(())
}
