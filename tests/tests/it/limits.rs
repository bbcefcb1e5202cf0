//! What would hang a workflow task or double a side effect, and does not.

mod definitions;
mod sizes;
mod times;

use std::time::Duration;

use serde_json::{Value, json};
use temporal_agents::{
    Agent, ModelActivityOptions, Runner, ToolError, tool,
    wire::{ModelRetryBackoff, ModelRetrySettings, ModelSettings},
    workflow::Summary,
};
use temporal_agents_testing::{
    AgentEnvironment, FinishedRun,
    fake_model::{FakeModel, text, tool_call, tool_calls},
};
use temporalio_common::protos::temporal::api::{enums::v1::EventType, history::v1::HistoryEvent};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

/// Moves money; running it twice does harm.
#[tool(idempotent = false, start_to_close = "1s")]
async fn refund() -> Result<String, ToolError> {
    std::future::pending::<()>().await;
    Ok("done".to_owned())
}

/// Blocks its thread for longer than its heartbeat timeout.
#[tool(heartbeat = "2s", start_to_close = "20s")]
async fn block() -> String {
    std::thread::sleep(Duration::from_millis(3500));
    "awake".to_owned()
}

/// Sleeps for longer than its heartbeat timeout.
#[tool(heartbeat = "2s", start_to_close = "20s")]
async fn nap() -> String {
    tokio::time::sleep(Duration::from_millis(3500)).await;
    "rested".to_owned()
}

/// Takes for ever.
#[tool(start_to_close = "60s", heartbeat = "1s")]
async fn wait() -> String {
    std::future::pending::<()>().await;
    "never".to_owned()
}

/// Is on no worker.
#[tool(schedule_to_close = "1s")]
async fn missing() -> String {
    "never".to_owned()
}

fn registered() -> Agent {
    Agent::new("clerk").tool(refund).tool(block).tool(nap).tool(wait)
}

fn runner(ctx: &WorkflowContext<Case>, case: &str) -> Runner<Case> {
    let runner = Runner::new(ctx).model("run's own").max_turns(4);
    match case {
        "odd retry settings" => {
            let backoff = ModelRetryBackoff::builder().initial_delay(90.0).max_delay(0.5).multiplier(0.2).build();
            let retry = ModelRetrySettings::builder().max_retries(u32::MAX).backoff(backoff).build();
            runner.settings(ModelSettings::builder().retry(retry).timeout(5.0).build())
        }
        "summary panics" => {
            let summary = Summary::computed(|_| panic!("no summary today"));
            runner.model_activity(ModelActivityOptions::builder().summary(summary).build())
        }
        "options for nobody" => runner.model_activity_for("clrek", ModelActivityOptions::default()),
        _ => runner,
    }
}

#[workflow]
#[derive(Default)]
pub(crate) struct Case;

#[workflow_methods]
impl Case {
    #[run(name = "case")]
    pub(crate) async fn run(
        ctx: &mut WorkflowContext<Self>,
        (case, input): (String, String),
    ) -> WorkflowResult<String> {
        let input = if case == "long" { "long ".repeat(450_000) } else { input };
        let agent = registered().model("the agent's own").tool(missing);
        Ok(runner(ctx, &case).run(&agent, input).await?.final_output)
    }
}

async fn run(case: &str, input: &str, model: &FakeModel) -> anyhow::Result<FinishedRun<String>> {
    let env = AgentEnvironment::builder().workflow::<Case>()?.model(model).agents((registered,)).start().await?;
    let run = env.run(Case::run, (case.to_owned(), input.to_owned())).await?;
    assert_eq!(run.failed_workflow_tasks(), 0);
    env.finish().await?;
    Ok(run)
}

fn last_outputs(model: &FakeModel) -> Vec<Value> {
    let last = model.calls().pop().expect("the model was asked");
    last.input.iter().filter_map(|item| item.get("output").cloned()).collect()
}

#[tokio::test]
async fn a_request_over_the_payload_limit_fails_the_run_before_it_is_scheduled() -> anyhow::Result<()> {
    let run = run("long", "", &FakeModel::script([])).await?;
    assert_eq!(run.activities(), []);
    let (kind, message) = &run.failure_chain()[0];
    assert_eq!(kind, "AgentsWorkflowError");
    assert!(message.contains("\"clerk\"") && message.contains("the limit is 2000000"), "{message}");
    Ok(())
}

#[tokio::test]
async fn retry_settings_the_server_would_refuse_are_put_right() -> anyhow::Result<()> {
    let model = FakeModel::script([text("fine")]);
    let run = run("odd retry settings", "hi", &model).await?;
    assert_eq!(run.output()?, "fine");
    assert_eq!(model.calls()[0].model, "run's own", "the run's model goes before the agent's");
    Ok(())
}

#[tokio::test]
async fn a_summary_that_panics_fails_the_run() -> anyhow::Result<()> {
    let run = run("summary panics", "hi", &FakeModel::script([])).await?;
    let (_, message) = &run.failure_chain()[0];
    assert!(
        message.contains("the summary function of the model activity failed: it panicked: no summary today"),
        "{message}"
    );
    Ok(())
}

#[tokio::test]
async fn options_for_an_unknown_agent_fail_the_run_and_name_those_there_are() -> anyhow::Result<()> {
    let run = run("options for nobody", "hi", &FakeModel::script([])).await?;
    let (_, message) = &run.failure_chain()[0];
    assert!(message.contains("agent \"clrek\", which is not an agent of the graph (it has: clerk)"), "{message}");
    Ok(())
}

#[tokio::test]
async fn a_tool_that_must_not_run_twice_is_not_offered_for_another_try() -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("refund", json!({})), text("I will ask a colleague")]);
    let run = run("", "refund me", &model).await?;
    let called = run.activities().into_iter().find(|activity| activity.activity_type == "agents.tool.refund");
    assert_eq!(called.map(|activity| activity.attempts), Some(1));
    let told = "The tool call was interrupted. It is not known whether it took effect. Do not repeat it.";
    assert_eq!(last_outputs(&model), [json!(told)]);
    Ok(())
}

#[tokio::test]
async fn a_tool_that_blocks_its_thread_still_beats() -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("block", json!({})), text("good")]);
    let run = run("", "hi", &model).await?;
    let attempts: Vec<_> = run.activities().into_iter().map(|activity| activity.attempts).collect();
    assert_eq!(attempts, [1, 1, 1]);
    assert_eq!(last_outputs(&model), [json!("awake")]);
    Ok(())
}

#[tokio::test]
async fn a_tool_beats_beside_one_that_blocks_its_thread() -> anyhow::Result<()> {
    let model = FakeModel::script([tool_calls([("nap", json!({})), ("block", json!({}))]), text("good")]);
    let run = run("", "hi", &model).await?;
    let attempts: Vec<_> = run.activities().into_iter().map(|activity| activity.attempts).collect();
    assert_eq!(attempts, [1, 1, 1, 1]);
    assert_eq!(last_outputs(&model), [json!("rested"), json!("awake")]);
    Ok(())
}

#[tokio::test]
async fn a_call_that_ends_the_run_cancels_those_beside_it() -> anyhow::Result<()> {
    let model = FakeModel::script([tool_calls([("wait", json!({})), ("missing", json!({}))])]);
    let run = run("", "hi", &model).await?;
    let (kind, message) = &run.failure_chain()[0];
    assert_eq!(kind, "AgentsWorkflowError");
    assert!(message.starts_with("tool \"missing\" of agent \"clerk\" is not registered on task queue"), "{message}");
    let asked_to_stop = |event: &&HistoryEvent| event.event_type() == EventType::ActivityTaskCancelRequested;
    assert_eq!(run.history.events.iter().filter(asked_to_stop).count(), 1);
    Ok(())
}
