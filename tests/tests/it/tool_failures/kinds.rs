//! The kind of each failure, and what is taken out of what a tool returns.

use std::time::Duration;

use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{
    Agent, Runner, Tool, ToolContext, ToolDef, ToolError,
    inline::InlineRunner,
    tool,
    tool::{OnToolError, ToolFailureKind},
};
use temporal_agents_testing::{
    FakeModel,
    fake_model::{text, tool_calls},
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

use super::holds;
use crate::examples::{Cache, histories};

const SECRET: &str = "hunter2-hunter2";

/// Fails in the way it is asked to.
#[tool(attempts = 1, start_to_close = "1s")]
async fn fail(call: &mut ToolContext, way: String) -> Result<String, ToolError> {
    match &*way {
        "told" => Err(ToolError::tell_model(format!("told {SECRET}"))),
        "failed" => Err(ToolError::failed(format!("failed {SECRET}"))),
        "panicked" => panic!("panicked {SECRET}"),
        "late" => {
            std::future::pending::<()>().await;
            Ok(String::new())
        }
        "noted" => {
            call.run_mut().set("notes", format!("noted {SECRET}"))?;
            Ok(format!("well {SECRET}"))
        }
        _ => {
            call.run_mut().set("money", 7)?;
            Ok(format!("well {SECRET}"))
        }
    }
}

/// Breaks off.
#[tool(idempotent = false, start_to_close = "1s")]
async fn break_off() -> Result<String, ToolError> {
    std::future::pending::<()>().await;
    Ok(String::new())
}

/// Is on no worker.
#[tool(schedule_to_close = "1s")]
async fn elsewhere() -> String {
    "never".to_owned()
}

/// Recites a secret.
#[tool(inline)]
fn recite(aloud: bool) -> Result<String, ToolError> {
    if aloud { Ok(format!("well {SECRET}")) } else { Err(ToolError::failed(format!("quiet {SECRET}"))) }
}

fn by_kind() -> OnToolError {
    OnToolError::by_kind(|_call, failure| match failure.kind {
        ToolFailureKind::Arguments => Some(failure.issues_message()),
        ToolFailureKind::Told => None,
        kind => Some(format!("{kind:?}: {}", failure.reason())),
    })
}

fn careful(tool: impl Tool) -> ToolDef {
    tool.definition().redact(|text| text.replace(SECRET, "***")).with_on_error(by_kind())
}

fn registered() -> Agent {
    let tools = Agent::new("clerk").model("gpt-5").tool(careful(fail).with_context(["notes"]));
    tools.tool(careful(break_off)).tool(careful(recite))
}

fn clerk() -> Agent {
    registered().tool(elsewhere.on_error(by_kind()))
}

#[workflow]
#[derive(Default)]
pub(crate) struct Failing;

#[workflow_methods]
impl Failing {
    #[run(name = "failing")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, request: String) -> WorkflowResult<Value> {
        let result = Runner::new(ctx).run(&clerk(), request).await?;
        Ok(json!({"said": result.final_output, "context": result.context}))
    }
}

fn script(has_other_workers: bool) -> FakeModel {
    let ways = ["told", "failed", "panicked", "late", "noted", "foreign"];
    let failing = ways.map(|way| ("fail", json!({"way": way})));
    let mut calls: Vec<(&str, Value)> = failing.into();
    calls.push(("fail", json!({"way": 7})));
    calls.push(("break_off", json!({})));
    calls.push(("recite", json!({"aloud": true})));
    calls.push(("recite", json!({"aloud": false})));
    if has_other_workers {
        calls.push(("elsewhere", json!({})));
    }
    FakeModel::script([tool_calls(calls), text("done")])
}

const EXPECTED: [&str; 10] = [
    "told ***",
    "Failed: failed ***",
    "Panicked: it panicked: panicked ***",
    "TimedOut: Tool 'fail' timed out after 1 second.",
    "well ***",
    "Failed: tool \"fail\" changes key \"money\" of the run context, which it does not declare; add it to the context \
     keys of the tool",
    "Invalid JSON input for tool fail. What does not fit: \
     [{\"field\":\"way\",\"constraint\":\"type\",\"allowed\":\"string\",\"actual_type\":\"integer\"}]",
    "OutcomeUnknown: The tool call was interrupted. It is not known whether it took effect. Do not repeat it.",
    "well ***",
    "Failed: quiet ***",
];

fn told(model: &FakeModel) -> Vec<String> {
    let last = model.calls().pop().expect("the model was asked");
    let outputs = last.input.iter().filter_map(|item| item.get("output").and_then(Value::as_str));
    outputs.map(str::to_owned).collect()
}

#[rstest]
#[tokio::test]
async fn each_failure_has_its_kind_and_nothing_recorded_holds_what_is_redacted(
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let model = script(true);
    let env = cache.environment::<Failing>()?.model(&model).agents((registered,)).start().await?;
    let run = env.run(Failing::run, "Fail.".to_owned()).await?;
    let mut told = told(&model);
    let last = told.pop().expect("the last call");
    let unknown = "NotRegistered: tool \"elsewhere\" of agent \"clerk\" is not registered on task queue \"agents\"";
    assert!(last.starts_with(unknown), "{last}");
    assert_eq!(told, EXPECTED);
    assert_eq!([SECRET, "noted ***"].map(|text| holds(&run.history, text)), [false, true]);
    assert_eq!(run.failed_workflow_tasks(), 0);
    histories::<Failing>(&env, &run.workflow_id).await?;
    assert_eq!(run.output()?, json!({"said": "done", "context": {"notes": "noted ***"}}));
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn the_same_without_temporal() -> anyhow::Result<()> {
    let model = script(false);
    let runner = InlineRunner::new(model.clone()).first_pause(Duration::from_millis(1));
    assert_eq!(runner.run(&registered(), "Fail.").await?.final_output, "done");
    assert_eq!(told(&model), EXPECTED);
    Ok(())
}
