//! What a model is told of a failed call has a limit, whoever words it.

use serde_json::{Value, json};
use temporal_agents::{
    Agent, Runner, Tool, ToolError, tool,
    tool::{OnToolError, ToolGuardrailOutput, ToolInputGuardrail},
};
use temporal_agents_testing::{
    FakeModel,
    fake_model::{text, tool_calls},
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

use crate::{agent_handlers::support::last_outputs, examples::Cache};

/// The most that a model is told of a call.
const MOST: usize = 100_000;
const LONG: usize = 3_000_000;

/// Adds numbers.
#[tool(inline)]
fn sum(numbers: Vec<i64>) -> i64 {
    numbers.into_iter().sum()
}

/// Fails at length.
#[tool(inline)]
fn complain(told: bool) -> Result<String, ToolError> {
    let words = "w".repeat(LONG);
    Err(if told { ToolError::tell_model(words) } else { ToolError::failed(words) })
}

fn adder() -> Agent {
    let wordy = ToolInputGuardrail::new("wordy", |_ctx| ToolGuardrailOutput::reject_content("w".repeat(LONG)));
    Agent::new("adder")
        .model("gpt-5")
        .tool(sum.definition().on_error(OnToolError::describe_argument_errors()))
        .tool(complain.definition().on_error(OnToolError::tell(|_call, failure| failure.reason().to_owned())))
        .tool(complain.definition().named("guarded").input_guardrail(wordy))
}

#[workflow]
#[derive(Default)]
pub(crate) struct Adder;

#[workflow_methods]
impl Adder {
    #[run(name = "adder")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, request: String) -> WorkflowResult<String> {
        Ok(Runner::new(ctx).run(&adder(), request).await?.final_output)
    }
}

#[tokio::test]
async fn a_model_is_told_no_more_than_so_much_of_a_failed_call() -> anyhow::Result<()> {
    let calls = [
        ("sum", json!({"numbers": vec!["one"; 28_000]})),
        ("complain", json!({"told": true})),
        ("complain", json!({"told": false})),
        ("guarded", json!({"told": true})),
    ];
    let model = FakeModel::script([tool_calls(calls), text("done")]);
    let env = Cache::On.environment::<Adder>()?.model(&model).agents((adder,)).start().await?;
    let run = env.run(Adder::run, "Add.".to_owned()).await?;
    assert_eq!(run.failed_workflow_tasks(), 0);
    assert_eq!(run.output()?, "done");
    let told: Vec<String> = last_outputs(&model).iter().filter_map(Value::as_str).map(str::to_owned).collect();
    assert_eq!(told.len(), 4);
    for text in &told {
        assert!(text.len() < MOST, "{} bytes: {}", text.len(), &text[..100]);
    }
    assert!(told[0].starts_with("Invalid JSON input for tool sum. What does not fit: [{"), "{}", &told[0][..100]);
    for text in &told[1..] {
        assert!(text.ends_with(&format!("of {LONG} bytes are left out]")), "{}", &text[text.len() - 100..]);
    }
    env.finish().await?;
    Ok(())
}
