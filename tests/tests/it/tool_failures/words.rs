//! What bodies in the workflow say when they fail, and how a limit on all attempts ends a call.

use std::time::Duration;

use futures::FutureExt;
use rstest::rstest;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use temporal_agents::{
    Agent, Runner, Tool, ToolContext, ToolDef, ToolError, WorkflowToolContext,
    inline::InlineRunner,
    tool,
    tool::{OnToolError, ToolActivityOptions},
};
use temporal_agents_testing::{
    FakeModel,
    fake_model::{text, tool_call, tool_calls},
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

use super::holds;
use crate::{
    agent_handlers::support::last_outputs,
    examples::{Cache, histories},
};

const SECRET: &str = "hunter2-hunter2";

/// How to fail.
#[derive(Deserialize, JsonSchema)]
struct Way {
    way: String,
}

fn fail(way: &str) -> ToolError {
    match way {
        "told" => ToolError::tell_model(format!("told {SECRET}")),
        "panicked" => panic!("panicked {SECRET}"),
        _ => ToolError::failed(format!("failed {SECRET}")),
    }
}

/// Never ends.
#[tool(start_to_close = "60s")]
async fn dawdle() -> String {
    std::future::pending().await
}

fn clerk() -> Agent {
    let careful = |tool: ToolDef| {
        let rule = OnToolError::by_kind(|_call, failure| Some(format!("{:?}: {}", failure.kind, failure.reason())));
        tool.redact(|text| text.replace(SECRET, "***")).with_on_error(rule)
    };
    let inline = ToolDef::inline("inline", "Fails.", |_: &mut ToolContext, Way { way }| Err(fail(&way)));
    let workflow = ToolDef::workflow("workflow", "Fails.", |_: &mut WorkflowToolContext, Way { way }| {
        async move { Err(fail(&way)) }.boxed_local()
    });
    let limited = ToolActivityOptions::builder().schedule_to_close(Duration::from_secs(1)).build();
    let clerk = Agent::new("clerk").model("gpt-5").tool(careful(inline)).tool(careful(workflow));
    clerk.tool(dawdle.definition().options(limited))
}

#[workflow]
#[derive(Default)]
pub(crate) struct Clerk;

#[workflow_methods]
impl Clerk {
    #[run(name = "failing_clerk")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, request: String) -> WorkflowResult<String> {
        Ok(Runner::new(ctx).run(&clerk(), request).await?.final_output)
    }
}

fn script() -> FakeModel {
    let ways = ["told", "failed", "panicked"];
    let calls = ["inline", "workflow"].map(|tool| ways.map(|way| (tool, json!({"way": way}))));
    FakeModel::script([tool_calls(calls.concat()), text("done")])
}

fn expected() -> Vec<serde_json::Value> {
    let each = ["Told: told ***", "Failed: failed ***", "Panicked: it panicked: panicked ***"];
    [each, each].concat().into_iter().map(|text| json!(text)).collect()
}

#[rstest]
#[tokio::test]
async fn bodies_in_the_workflow_are_redacted_when_they_fail_and_their_failures_have_kinds(
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let model = script();
    let env = cache.environment::<Clerk>()?.model(&model).agents((clerk,)).start().await?;
    let run = env.run(Clerk::run, "Fail.".to_owned()).await?;
    assert_eq!(last_outputs(&model), expected());
    assert!(!holds(&run.history, SECRET), "nothing recorded holds what is redacted");
    histories::<Clerk>(&env, &run.workflow_id).await?;
    assert_eq!(run.output()?, "done");
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn the_same_without_temporal() -> anyhow::Result<()> {
    let model = script();
    InlineRunner::new(model.clone()).run(&clerk(), "Fail.").await?;
    assert_eq!(last_outputs(&model), expected());
    Ok(())
}

#[tokio::test]
async fn a_limit_on_all_attempts_is_told_as_one_on_each() -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("dawdle", json!({})), text("done")]);
    let env = Cache::On.environment::<Clerk>()?.model(&model).agents((clerk,)).start().await?;
    let run = env.run(Clerk::run, "Dawdle.".to_owned()).await?;
    assert_eq!(last_outputs(&model), [json!("Tool 'dawdle' timed out after 1 second.")]);
    assert_eq!(run.output()?, "done");
    env.finish().await?;
    Ok(())
}
