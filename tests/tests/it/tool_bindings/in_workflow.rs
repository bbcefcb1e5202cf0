//! Tools whose body runs in the workflow and waits there.

use std::time::{Duration, SystemTime};

use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{
    Agent, ToolDef, ToolError, WorkflowToolContext,
    inline::InlineRunner,
    tool,
    tool::{ChildWorkflow, RemoteActivity, WorkflowToolError},
};
use temporal_agents_core::drive::join::join_in_order;
use temporal_agents_testing::{
    FakeModel,
    fake_model::{text, tool_call, tool_calls},
    history,
};
use temporalio_client::{WorkflowCancelOptions, errors::WorkflowGetResultError};
use temporalio_common::protos::temporal::api::enums::v1::EventType;
use tokio::time::timeout;

use super::support::{FAILED, count, outputs, workflow_of};
use crate::{
    PATIENCE,
    examples::{Cache, Played},
    python_worker::PythonWorker,
};

const QUEUE: &str = "python";

/// Looks orders up and ships them, after a pause.
///
/// # Arguments
/// * `orders` - numbers of orders
#[tool(workflow)]
async fn deliver(ctx: &mut WorkflowToolContext, orders: Vec<String>) -> Result<Value, ToolError> {
    let began = ctx.now();
    ctx.sleep(Duration::from_secs(1)).await?;
    let slept = ctx.now().duration_since(began).unwrap_or_default() >= Duration::from_secs(1);
    let look_up = RemoteActivity::named("look_up").task_queue(QUEUE);
    let looking = orders.iter().map(|order| ctx.activity(look_up.clone(), json!({"order": order}))).collect();
    let found: Vec<Value> = join_in_order(looking).await.into_iter().collect::<Result<_, _>>()?;
    let ship = ChildWorkflow::named("ship_order").task_queue(QUEUE);
    let mut shipped = Vec::new();
    for order in &orders {
        match ctx.child_workflow(ship.clone(), json!({"order": order})).await {
            Ok(receipt) => shipped.push(receipt["shipped"].clone()),
            Err(WorkflowToolError::Failed { error_type, message, .. }) => {
                shipped.push(json!(format!("{}: {message}", error_type.unwrap_or_default())));
            }
            Err(error) => return Err(error.into()),
        }
    }
    let before: u32 = ctx.run().get("deliveries")?.unwrap_or_default();
    ctx.run_mut().set("deliveries", before + 1)?;
    let drawn = (ctx.random(), ctx.random(), ctx.uuid());
    let is_random = drawn.0 != drawn.1 && drawn.2.len() == 36;
    Ok(json!({"slept": slept, "found": found.len(), "shipped": shipped, "random": is_random, "before": before}))
}

/// Fails in the way that is asked for.
#[tool(workflow)]
async fn stumble(ctx: &mut WorkflowToolContext, how: String) -> Result<String, ToolError> {
    match how.as_str() {
        "told" => Err(ToolError::tell_model("mind the step")),
        "panic" => {
            ctx.sleep(Duration::from_millis(1)).await?;
            panic!("the step is gone")
        }
        "large" => {
            let activity = RemoteActivity::named("look_up").task_queue(QUEUE);
            Ok(ctx.activity(activity, "x".repeat(3_000_000)).await?.to_string())
        }
        "leave" => {
            // Begun and never awaited to its end: it is cancelled when the body ends.
            let mut waiting = ctx.sleep(Duration::from_hours(1));
            let polled = futures::poll!(&mut waiting);
            ctx.sleep(Duration::from_millis(1)).await?;
            Ok(format!("left it {}", if polled.is_pending() { "waiting" } else { "done" }))
        }
        _ => Err(std::io::Error::other("the stairs of 10.0.0.7"))?,
    }
}

/// Waits for an hour.
#[tool(workflow)]
async fn wait(ctx: &mut WorkflowToolContext) -> Result<String, ToolError> {
    ctx.sleep(Duration::from_hours(1)).await?;
    Ok("an hour later".to_owned())
}

fn courier() -> Agent {
    Agent::new("courier").model("gpt-5").tool(deliver).tool(stumble).tool(wait)
}

workflow_of!(Courier, "courier", courier);

/// Plays the run whose history is golden.
pub(crate) async fn recorded(cache: Cache) -> anyhow::Result<Played<String>> {
    let model = FakeModel::script([tool_call("deliver", json!({"orders": ["1"]})), text("done")]);
    let env = cache.environment::<Courier>()?.model(&model).agents((courier,)).start().await?;
    let _python = PythonWorker::start(&env, QUEUE).await?;
    let run = env.run(Courier::run, "Deliver.".to_owned()).await?;
    let histories = vec![run.history.clone()];
    env.finish().await?;
    Ok(Played { output: run.output()?, histories, calls: model.calls() })
}

#[rstest]
#[tokio::test]
async fn a_workflow_tool_waits_for_timers_activities_and_children(
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let model = FakeModel::script([
        tool_call("deliver", json!({"orders": ["1", "2", "broken"]})),
        tool_call("deliver", json!({"orders": ["3"]})),
        text("done"),
    ]);
    let env = cache.environment::<Courier>()?.model(&model).agents((courier,)).start().await?;
    let _python = PythonWorker::start(&env, QUEUE).await?;
    let run = env.run(Courier::run, "Deliver.".to_owned()).await?;
    assert_eq!(run.failed_workflow_tasks(), 0);
    assert_eq!(count(&run.history, EventType::TimerFired), 2);
    let ids: Vec<_> =
        run.activities().into_iter().filter(|a| a.activity_type == "look_up").map(|a| a.activity_id).collect();
    let tails: Vec<_> = ids.iter().map(|id| id.split_once('-').expect("a run's id, and the rest").1).collect();
    assert_eq!(tails, ["1-tool-0-1", "1-tool-0-2", "1-tool-0-3", "2-tool-0-1"]);
    assert_eq!(run.output()?, "done");
    let shipped = json!(["1", "2", "Lost: the parcel fell into the sea"]);
    let answer = |found, shipped, before| {
        json!(json!({"slept": true, "found": found, "shipped": shipped, "random": true, "before": before}).to_string())
    };
    assert_eq!(outputs(&model), [answer(3, shipped, 0), answer(1, json!(["3"]), 1)]);
    env.finish().await?;
    Ok(())
}

#[rstest]
#[tokio::test]
async fn what_a_workflow_tool_fails_with_is_an_outcome(
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let ways = ["told", "other", "panic", "large", "leave"];
    let model = FakeModel::script([tool_calls(ways.map(|how| ("stumble", json!({"how": how})))), text("done")]);
    let env = cache.environment::<Courier>()?.model(&model).agents((courier,)).start().await?;
    let run = env.run(Courier::run, "Stumble.".to_owned()).await?;
    assert_eq!(run.failed_workflow_tasks(), 0);
    assert_eq!(count(&run.history, EventType::TimerCanceled), 1, "nothing outlives the call that has started it");
    assert_eq!(run.output()?, "done");
    let told = ["mind the step", FAILED, FAILED, FAILED, "left it waiting"].map(|text| json!(text));
    assert_eq!(outputs(&model), told);
    env.finish().await?;
    Ok(())
}

#[rstest]
#[tokio::test]
async fn cancellation_reaches_what_a_workflow_tool_waits_for(
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("wait", json!({}))]);
    let env = cache.environment::<Courier>()?.model(&model).agents((courier,)).start().await?;
    let handle = env.start_workflow(Courier::run, "Wait.".to_owned()).await?;
    let waiting = async {
        while count(&history::fetch(env.client(), &handle.info().workflow_id, None).await?, EventType::TimerStarted)
            == 0
        {}
        anyhow::Ok(())
    };
    timeout(PATIENCE, waiting).await.map_err(|_| anyhow::anyhow!("no timer within {PATIENCE:?}"))??;
    handle.cancel(WorkflowCancelOptions::default()).await?;
    let run = env.await_run(&handle).await?;
    assert_eq!(run.failed_workflow_tasks(), 0);
    let ended = run.output().expect_err("it was cancelled");
    assert!(matches!(ended, WorkflowGetResultError::Cancelled { .. }), "{ended:?}");
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn an_inline_run_has_time_and_randomness_and_says_what_it_has_not() -> anyhow::Result<()> {
    let agent = Agent::<String>::new("courier").model("gpt-5").tool(ToolDef::workflow(
        "try",
        "Tries.",
        |ctx: &mut WorkflowToolContext, _: Nothing| {
            Box::pin(async move {
                ctx.sleep(Duration::from_millis(1)).await?;
                let is_now = ctx.now() > SystemTime::UNIX_EPOCH && ctx.uuid() != ctx.uuid();
                let error = ctx.activity(RemoteActivity::named("look_up"), json!({})).await.expect_err("no workflow");
                Ok(format!("{is_now}: {error}").into())
            })
        },
    ));
    let model = FakeModel::script([tool_call("try", json!({})), text("done")]);
    InlineRunner::new(model.clone()).run(&agent, "Try.").await?;
    let says =
        "true: activity \"look_up\" needs a workflow, and this run has none; run the agent with Runner in a workflow";
    assert_eq!(outputs(&model), [json!(says)]);
    Ok(())
}

/// No arguments.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}
