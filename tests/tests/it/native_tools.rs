//! Calls of tools that the provider defines, made by tools of the author.

use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{
    Agent, Runner, Tool,
    gate::{Gate, GateMode, Rule, RuleDecision},
    inline::InlineRunner,
    run::{PausedRun, RunOutcome},
    tool,
    tool::NativeTool,
    wire::{Decision, Item, RunState},
};
use temporal_agents_testing::{
    FakeModel,
    fake_model::{Reply, item, text},
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

use crate::examples::{Cache, Played, histories, play};

/// Runs commands.
#[tool]
async fn run_commands(commands: Vec<String>) -> String {
    json!({"stdout": commands.join("+"), "exit_code": 0}).to_string()
}

/// Changes a file.
///
/// # Arguments
/// * `path` - the file
#[tool(inline)]
fn change_file(path: String) -> String {
    format!("changed {path}")
}

/// Uses the browser.
#[tool]
async fn use_browser(action: Value) -> String {
    format!("data:image/png;base64,{}", action["type"].as_str().unwrap_or_default())
}

/// Queries the database.
#[tool]
async fn query(input: String) -> String {
    input.to_uppercase()
}

fn engineer() -> Agent {
    Agent::new("engineer")
        .model("gpt-5.1")
        .tool(run_commands.native(NativeTool::shell()))
        .tool(change_file.native(NativeTool::apply_patch()))
        .tool(use_browser.native(NativeTool::computer(800, 600, "browser")))
        .tool(query.native(NativeTool::custom("sql", "Queries the database.")))
}

fn gate() -> Gate {
    let mut deny = Rule::new("no-rm", RuleDecision::Deny);
    deny.program.push_str("rm");
    Gate::new(GateMode::Autonomous).rules([deny])
}

fn model() -> FakeModel {
    let calls = [
        json!({"type": "shell_call", "id": "sh_1", "call_id": "c1", "action": {"commands": ["ls", "pwd"]}}),
        json!({"type": "shell_call", "id": "sh_2", "call_id": "c2", "action": {"commands": ["rm -rf /"]}}),
        json!({
            "type": "apply_patch_call", "id": "ap_1", "call_id": "c3", "status": "completed",
            "operation": {"type": "update_file", "path": "a.rs", "diff": "@@"},
        }),
        json!({"type": "custom_tool_call", "id": "ct_1", "call_id": "c4", "name": "sql", "input": "select 1"}),
        json!({
            "type": "computer_call", "id": "cu_1", "call_id": "c5", "action": {"type": "screenshot"},
            "pending_safety_checks": [{"id": "sc_1", "code": "malicious_instructions", "message": "Sure?"}],
        }),
    ];
    let reply = calls.into_iter().map(item).reduce(Reply::and).expect("there are calls");
    FakeModel::script([reply, text("done")])
}

/// Approves the one call that waits: that with a safety check.
fn acknowledged(mut state: RunState) -> RunState {
    let waiting = state.interruptions();
    assert_eq!(waiting.iter().map(|call| &*call.tool).collect::<Vec<_>>(), ["computer_use_preview"]);
    state.decide(&waiting[0].id, Decision::approve()).expect("it waits");
    state
}

fn check(outputs: &[Value], model: &FakeModel) {
    let listed = json!([{"stdout": "ls+pwd", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]);
    assert_eq!(outputs[0], json!({"type": "shell_call_output", "call_id": "c1", "output": listed}));
    let denied = outputs[1]["output"][0]["stderr"].as_str().unwrap_or_default();
    assert!(denied.starts_with("[blocked by command policy]"), "{}", outputs[1]);
    assert_eq!(
        outputs[2..],
        [
            json!({"type": "apply_patch_call_output", "call_id": "c3", "status": "completed", "output": "changed a.rs"}),
            json!({"type": "custom_tool_call_output", "call_id": "c4", "output": "SELECT 1"}),
            json!({
                "type": "computer_call_output", "call_id": "c5",
                "output": {"type": "computer_screenshot", "image_url": "data:image/png;base64,screenshot"},
                "acknowledged_safety_checks":
                    [{"id": "sc_1", "code": "malicious_instructions", "message": "Sure?"}],
            }),
        ]
    );
    let asked = model.calls();
    let offered = json!(asked[0].definitions.tools);
    let types: Vec<_> = offered.as_array().expect("a list").iter().map(|tool| tool["config"]["type"].clone()).collect();
    assert_eq!(types, ["shell", "apply_patch", "computer_use_preview", "custom"]);
    assert_eq!(outputs_of(&asked[1].input), outputs, "the model gets what the run has");
}

fn outputs_of(items: &[Item]) -> Vec<Value> {
    let outputs = items.iter().filter(|item| item.kind().ends_with("_output"));
    outputs.map(|item| item.without("is_error").to_value()).collect()
}

/// Pauses for the safety check.
#[workflow]
#[derive(Default)]
pub(crate) struct NativeCalls;

#[workflow_methods]
impl NativeCalls {
    #[run(name = "native_calls")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<Vec<Item>> {
        let runner = Runner::new(ctx).gate(gate());
        let RunOutcome::Paused(PausedRun { state, .. }) = runner.run(&engineer(), "Go.").until_paused().await? else {
            panic!("it waits")
        };
        Ok(runner.run(&engineer(), acknowledged(state)).await?.to_input_list())
    }
}

/// Plays the run whose history is golden.
pub(crate) async fn recorded(cache: Cache) -> anyhow::Result<Played<Vec<Item>>> {
    play::<NativeCalls, _>(cache, (engineer,), model(), NativeCalls::run, ()).await
}

#[rstest]
#[tokio::test]
async fn tools_of_the_author_make_native_calls_in_a_workflow(
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let model = model();
    let env = cache.environment::<NativeCalls>()?.model(&model).agents((engineer,)).start().await?;
    let run = env.run(NativeCalls::run, ()).await?;
    histories::<NativeCalls>(&env, &run.workflow_id).await?;
    check(&outputs_of(&run.output()?), &model);
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn tools_of_the_author_make_native_calls_inline() -> anyhow::Result<()> {
    let model = model();
    let runner = InlineRunner::new(model.clone()).gate(gate());
    let RunOutcome::Paused(PausedRun { state, .. }) = runner.run(&engineer(), "Go.").until_paused().await? else {
        panic!("it waits")
    };
    let result = runner.run(&engineer(), acknowledged(state)).await?;
    check(&outputs_of(&result.to_input_list()), &model);
    Ok(())
}

#[tokio::test]
async fn a_computer_without_an_image_and_a_call_that_nothing_makes_end_the_run() -> anyhow::Result<()> {
    let call = json!({"type": "computer_call", "id": "cu_1", "call_id": "c1", "action": {"type": "click"}});
    let blind = query.definition().native(NativeTool::computer(800, 600, "browser"));
    let model = FakeModel::script([item(call)]);
    let agent: Agent = Agent::new("clerk").model("gpt-5.1").tool(blind);
    let error = InlineRunner::new(model).run(&agent, "Go.").await.expect_err("it has no image");
    assert!(error.to_string().contains("must be an image"), "{error}");

    let call = json!({"type": "apply_patch_call", "call_id": "c1", "operation": {}});
    let model = FakeModel::script([item(call)]);
    let agent: Agent = Agent::new("clerk").model("gpt-5.1").hosted_tool("apply_patch", json!({"type": "apply_patch"}));
    let error = InlineRunner::new(model).run(&agent, "Go.").await.expect_err("nothing makes it");
    assert!(error.to_string().contains("the model called tool \"apply_patch\", which nothing runs"), "{error}");
    Ok(())
}

#[tokio::test]
async fn safety_checks_wait_for_a_person_whatever_the_rule_of_the_tool() -> anyhow::Result<()> {
    let checked = |call_id: &str| {
        item(json!({
            "type": "computer_call", "id": format!("cu_{call_id}"), "call_id": call_id,
            "action": {"type": "click"}, "pending_safety_checks": [{"id": "sc_1"}],
        }))
    };
    let model = FakeModel::script([checked("c1"), checked("c2")]);
    let browser = use_browser.native(NativeTool::computer(800, 600, "browser")).needs_approval_when(|_, _, _| false);
    let agent: Agent = Agent::new("clerk").model("gpt-5.1").tool(browser);
    let runner = InlineRunner::new(model);
    let RunOutcome::Paused(PausedRun { mut state, .. }) = runner.run(&agent, "Go.").until_paused().await? else {
        panic!("the first call waits")
    };
    state.decide_always(&state.interruptions()[0].id.clone(), Decision::approve())?;
    let RunOutcome::Paused(paused) = runner.run(&agent, state).until_paused().await? else {
        panic!("the second call waits as well")
    };
    assert_eq!(paused.state.interruptions()[0].id, "c2");
    Ok(())
}
