//! Workers that end in the middle of a batch: what has ended is not made again, also after the last attempt.

use std::time::Duration;

use rstest::rstest;
use serde_json::json;
use temporal_agents::{Agent, Runner, State, ToolContext, tool, worker::ConversationCache};
use temporal_agents_testing::{
    FakeModel,
    fake_model::{text, tool_calls},
};
use temporalio_client::{Client, UntypedWorkflow, WorkflowDescribeOptions};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};
use tokio::time::{sleep, timeout};

use super::{Log, tool_activities};
use crate::examples::{Cache, histories};

/// Ends at once, or in no time, unless it is tried again.
#[tool(start_to_close = "60s", heartbeat = "1s")]
async fn retried(ctx: &ToolContext, State(log): State<Log>, way: String) -> String {
    wait(ctx, &log, way).await
}

/// Ends at once, or in no time.
#[tool(start_to_close = "60s", heartbeat = "1s", attempts = 1)]
async fn tried_once(ctx: &ToolContext, State(log): State<Log>, way: String) -> String {
    wait(ctx, &log, way).await
}

async fn wait(ctx: &ToolContext, log: &Log, way: String) -> String {
    let attempt = log.begins(ctx, &way);
    if way.starts_with("hangs") && attempt == 1 {
        sleep(Duration::from_mins(5)).await;
    }
    if way.starts_with("blocks") && attempt == 1 {
        std::thread::sleep(Duration::from_secs(8));
    }
    format!("{way}: attempt {attempt}")
}

fn crew() -> Agent {
    Agent::new("crew").model("gpt-5").tool(retried).tool(tried_once)
}

#[workflow]
#[derive(Default)]
pub(crate) struct Crew;

#[workflow_methods]
impl Crew {
    #[run(name = "crew")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, request: String) -> WorkflowResult<String> {
        Ok(Runner::new(ctx).batch_tools().run(&crew(), request).await?.final_output)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Killed,
    Stopped,
}

/// Waits until the server has the outcomes of so many calls in the heartbeat of the batch.
async fn outcomes(client: &Client, workflow_id: &str, wanted: usize) -> anyhow::Result<()> {
    let looking = async {
        loop {
            if heartbeat(client, workflow_id).await?.matches("\"index\"").count() >= wanted {
                return anyhow::Ok(());
            }
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(crate::PATIENCE, looking).await?
}

/// The heartbeat details of the pending activities, as text.
async fn heartbeat(client: &Client, workflow_id: &str) -> anyhow::Result<String> {
    let handle = client.get_workflow_handle::<UntypedWorkflow>(workflow_id);
    let description = handle.describe(WorkflowDescribeOptions::default()).await?.raw_description;
    let details = description.pending_activities.into_iter().filter_map(|activity| activity.heartbeat_details);
    let payloads = details.flat_map(|details| details.payloads);
    Ok(payloads.map(|payload| String::from_utf8_lossy(&payload.data).into_owned()).collect())
}

/// What the model was told of its calls.
fn told(model: &FakeModel) -> Vec<String> {
    let last = model.calls().pop().expect("the model was asked");
    last.input.iter().filter_map(|item| item.get("output")?.as_str().map(str::to_owned)).collect()
}

#[rstest]
#[tokio::test]
async fn a_retry_makes_only_the_calls_that_had_not_ended(
    #[values(End::Killed, End::Stopped)] end: End,
    #[values("hangs", "blocks")] way: &str,
) -> anyhow::Result<()> {
    let calls = ["quick 1", way, "quick 2", "hangs too"];
    let calls: Vec<_> = calls.iter().map(|way| ("retried", json!({"way": way}))).collect();
    let (model, log) = (FakeModel::script([tool_calls(calls), text("done")]), Log::default());
    let builder = Cache::Off.environment::<Crew>()?.model(&model).state(log.clone()).agents((crew,));
    let mut env = builder.start().await?;
    let started = env.start_workflow(Crew::run, "Go.".to_owned()).await?;
    log.reaches(4).await;
    outcomes(env.client(), &started.info().workflow_id, 2).await?;
    match end {
        End::Killed => env.kill_worker().await?,
        End::Stopped => env.stop_worker().await?,
    }
    env.start_worker()?;
    let run = env.await_run(&started).await?;
    histories::<Crew>(&env, &run.workflow_id).await?;
    assert_eq!(tool_activities(&run.history), ["agents.call_tools"]);
    assert_eq!(
        told(&model),
        ["quick 1: attempt 1", &format!("{way}: attempt 2"), "quick 2: attempt 1", "hangs too: attempt 2"]
    );
    assert_eq!(log.counts().into_values().collect::<Vec<_>>(), [2, 2, 1, 1]);
    run.output()?;
    env.finish().await?;
    Ok(())
}

#[rstest]
#[tokio::test]
async fn what_had_ended_when_the_only_attempt_was_lost_is_kept_and_can_be_referred_to(
    #[values(End::Killed, End::Stopped)] end: End,
) -> anyhow::Result<()> {
    let long = format!("quick {}", "and long ".repeat(60));
    let calls = [long.as_str(), "hangs"].map(|way| ("tried_once", json!({"way": way})));
    let model = FakeModel::script([tool_calls(calls), tool_calls([("retried", json!({"way": "last"}))]), text("done")]);
    let log = Log::default();
    let builder = Cache::Off.environment::<Crew>()?.model(&model).state(log.clone()).agents((crew,));
    // No worker has anything in memory: what the calls refer to is read from history.
    let mut env = builder.conversation_cache(ConversationCache::with_bytes(0)).start().await?;
    let started = env.start_workflow(Crew::run, "Go.".to_owned()).await?;
    log.reaches(2).await;
    outcomes(env.client(), &started.info().workflow_id, 1).await?;
    match end {
        End::Killed => env.kill_worker().await?,
        End::Stopped => env.stop_worker().await?,
    }
    env.start_worker()?;
    let run = env.await_run(&started).await?;
    histories::<Crew>(&env, &run.workflow_id).await?;
    assert_eq!(tool_activities(&run.history), ["agents.call_tools", "agents.tool.retried"]);
    let told = told(&model);
    assert_eq!(told[0], format!("{long}: attempt 1"));
    assert!(told[1].starts_with("An error occurred"), "{told:?}");
    assert_eq!(log.counts().into_values().collect::<Vec<_>>(), [1, 1, 1]);
    run.output()?;
    env.finish().await?;
    Ok(())
}
