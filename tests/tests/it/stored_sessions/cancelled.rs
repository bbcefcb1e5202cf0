//! A workflow with a stored session that is cancelled: it ends as cancelled, and its session hears what was done.

use std::sync::Arc;

use rstest::rstest;
use serde_json::json;
use temporal_agents::{Agent, Runner, State, ToolContext, run::SessionRef, tool};
use temporal_agents_testing::{FakeModel, environment::ActivityOutcome, fake_model::tool_call};
use temporalio_client::{WorkflowCancelOptions, errors::WorkflowGetResultError};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};
use tokio::{sync::Semaphore, time::timeout};

use crate::PATIENCE;

use super::{Flaky, contents};
use crate::examples::{Cache, histories};

#[derive(Clone)]
struct Begun(Arc<Semaphore>);

/// Digs until it is told to stop, and then says how far it came.
#[tool(heartbeat = "1s", start_to_close = "60s")]
async fn dig(ctx: &ToolContext, State(begun): State<Begun>) -> String {
    begun.0.add_permits(1);
    while !ctx.is_cancelled() {
        tokio::task::yield_now().await;
    }
    "one foot deep".to_owned()
}

fn digger() -> Agent {
    Agent::new("digger").model("gpt-5").tool(dig)
}

#[workflow]
#[derive(Default)]
pub(crate) struct Garden;

#[workflow_methods]
impl Garden {
    #[run(name = "garden")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, request: String) -> WorkflowResult<String> {
        let session = SessionRef::stored("shop", "customer 7");
        Ok(Runner::new(ctx).session(session).run(&digger(), request).await?.final_output)
    }
}

#[rstest]
#[tokio::test]
async fn a_cancelled_workflow_ends_as_cancelled_and_its_session_hears_what_was_done(
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let (store, begun) = (Flaky::default(), Begun(Arc::new(Semaphore::new(0))));
    let model = FakeModel::script([tool_call("dig", json!({}))]);
    let builder = cache.environment::<Garden>()?.model(&model).state(begun.clone()).agents((digger,));
    let env = builder.session_store("shop", store.clone()).start().await?;
    let handle = env.start_workflow(Garden::run, "Dig.".to_owned()).await?;
    let dug = timeout(PATIENCE, begun.0.acquire()).await;
    dug.map_err(|_| anyhow::anyhow!("nobody digs within {PATIENCE:?}"))??.forget();
    handle.cancel(WorkflowCancelOptions::default()).await?;
    let run = env.await_run(&handle).await?;
    histories::<Garden>(&env, &run.workflow_id).await?;

    let ended: Vec<_> = run.activities().into_iter().map(|a| (a.activity_type, a.attempts, a.outcome)).collect();
    let completed = |kind: &str, attempts| (kind.to_owned(), attempts, ActivityOutcome::Completed);
    assert_eq!(
        ended,
        [
            completed("agents.session.shop", 2),
            completed("agents.session.shop", 1),
            completed("agents.call_model", 1),
            completed("agents.tool.dig", 1),
            completed("agents.session.shop", 2),
        ]
    );
    assert_eq!(
        contents(&store.keep(|kept| kept.items["customer 7"].clone())),
        ["Dig.", "function_call", "one foot deep"]
    );
    let ended = run.output().expect_err("it was cancelled");
    assert!(matches!(ended, WorkflowGetResultError::Cancelled { .. }), "{ended:?}");
    env.finish().await?;
    Ok(())
}
