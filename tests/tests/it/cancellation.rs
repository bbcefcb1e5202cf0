//! A workflow, or one run of it, that is cancelled while the tools of a turn run: all of them are told, and awaited.

use std::sync::Arc;

use rstest::rstest;
use serde_json::json;
use temporal_agents::{Agent, RunFailed, Runner, State, ToolContext, ToolError, run::RunError, tool};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    environment::{ActivityOutcome, ActivityRecord, activities},
    fake_model::{text, tool_calls},
    history::{self, History},
};
use temporalio_client::{WorkflowCancelOptions, WorkflowSignalOptions, errors::WorkflowGetResultError};
use temporalio_common::protos::temporal::api::enums::v1::EventType;
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{SyncWorkflowContext, WorkflowContext, WorkflowResult, workflows::join};
use tokio::{sync::Semaphore, time::timeout};

use crate::examples::{Cache, histories};

use crate::PATIENCE;

/// What the tools tell the test.
#[derive(Clone)]
struct Told {
    begun: Arc<Semaphore>,
    cleaned_up: Arc<Semaphore>,
}

impl Told {
    fn nothing() -> Self {
        let none = || Arc::new(Semaphore::new(0));
        Self { begun: none(), cleaned_up: none() }
    }
}

/// Waits until so many tools have said so.
async fn until(said: &Semaphore, tools: u32) -> anyhow::Result<()> {
    let all = timeout(PATIENCE, said.acquire_many(tools)).await;
    all.map_err(|_| anyhow::anyhow!("only {} of {tools} tools within {PATIENCE:?}", said.available_permits()))??
        .forget();
    Ok(())
}

/// Digs until it is told to stop, and then fills the hole.
#[tool(heartbeat = "1s", start_to_close = "60s")]
async fn dig(ctx: &ToolContext, State(told): State<Told>) -> Result<String, ToolError> {
    told.begun.add_permits(1);
    while !ctx.is_cancelled() {
        tokio::task::yield_now().await;
    }
    told.cleaned_up.add_permits(1);
    Ok("filled the hole".to_owned())
}

/// Listens, and hears nothing of being told to stop.
#[tool(heartbeat = "1s", start_to_close = "60s")]
async fn listen(State(told): State<Told>) -> Result<String, ToolError> {
    let _says_when_it_is_dropped = Leaves(told.cleaned_up);
    told.begun.add_permits(1);
    std::future::pending().await
}

struct Leaves(Arc<Semaphore>);

impl Drop for Leaves {
    fn drop(&mut self) {
        self.0.add_permits(1);
    }
}

/// Looks, which takes no time.
#[tool]
async fn look() -> Result<String, ToolError> {
    Ok("a field".to_owned())
}

fn digger() -> Agent {
    Agent::new("digger").model("gpt-5").tool(dig).tool(listen).tool(look)
}

#[workflow]
#[derive(Default)]
pub(crate) struct Digger;

#[workflow_methods]
impl Digger {
    #[run(name = "digger")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, request: String) -> WorkflowResult<String> {
        Ok(Runner::new(ctx).run(&digger(), request).await?.final_output)
    }
}

/// Waits until history has the outcome of the look: cancellation comes too late for it.
async fn until_it_has_looked(env: &AgentEnvironment, workflow_id: &str) -> anyhow::Result<()> {
    let has_looked = |record: &ActivityRecord| {
        record.activity_type == "agents.tool.look" && record.outcome == ActivityOutcome::Completed
    };
    let looking = async {
        while !activities(&history::fetch(env.client(), workflow_id, None).await?).iter().any(has_looked) {}
        anyhow::Ok(())
    };
    timeout(PATIENCE, looking).await.unwrap_or_else(|_| Err(anyhow::anyhow!("no look within {PATIENCE:?}")))
}

fn count(history: &History, kind: EventType) -> usize {
    history.events.iter().filter(|event| event.event_type() == kind).count()
}

#[rstest]
#[tokio::test]
async fn the_tools_of_a_cancelled_workflow_are_cancelled_and_awaited(
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let told = Told::nothing();
    let all = ["dig", "look", "listen"].map(|tool| (tool, json!({})));
    let model = FakeModel::script([tool_calls(all)]);
    let env = cache.environment::<Digger>()?.model(&model).state(told.clone()).agents((digger,)).start().await?;
    let handle = env.start_workflow(Digger::run, "Dig.".to_owned()).await?;
    until(&told.begun, 2).await?;
    until_it_has_looked(&env, &handle.info().workflow_id).await?;
    handle.cancel(WorkflowCancelOptions::default()).await?;
    let run = env.await_run(&handle).await?;
    until(&told.cleaned_up, 2).await?;
    histories::<Digger>(&env, &run.workflow_id).await?;

    let ended: Vec<_> = run.activities().into_iter().map(|a| (a.activity_type, a.attempts, a.outcome)).collect();
    let ended_so = |kind: &str, outcome| (kind.to_owned(), 1, outcome);
    assert_eq!(
        ended,
        [
            ended_so("agents.call_model", ActivityOutcome::Completed),
            ended_so("agents.tool.dig", ActivityOutcome::Completed),
            ended_so("agents.tool.look", ActivityOutcome::Completed),
            ended_so("agents.tool.listen", ActivityOutcome::Cancelled),
        ],
        "one that has stopped by itself says what it has done"
    );
    // The third is complete, but the workflow may not have heard of it yet when it is cancelled.
    assert!((2..=3).contains(&count(&run.history, EventType::ActivityTaskCancelRequested)));
    assert_eq!(count(&run.history, EventType::WorkflowExecutionCanceled), 1);
    let ended = run.output().expect_err("it was cancelled");
    assert!(matches!(ended, WorkflowGetResultError::Cancelled { .. }), "{ended:?}");
    env.finish().await?;
    Ok(())
}

/// Stops one run when it is told to, and says with another one what came of it.
#[workflow]
#[derive(Default)]
pub(crate) struct Foreman {
    has_enough: bool,
}

#[workflow_methods]
impl Foreman {
    #[run(name = "foreman")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, request: String) -> WorkflowResult<String> {
        let token = ctx.cancellation_token().child_token();
        let runner = Runner::new(ctx).cancellation_token(token.clone());
        let agent = digger();
        let stop = async {
            let told = ctx.wait_condition(|foreman| foreman.has_enough).await;
            token.cancel();
            told
        };
        let (dug, told) = join!(runner.run(&agent, request).into_future(), stop);
        told?;
        match dug {
            Err(RunFailed { error: RunError::Cancelled { .. }, .. }) => {
                Ok(Runner::new(ctx).run(&agent, "What now?").await?.final_output)
            }
            dug => Ok(dug?.final_output),
        }
    }

    #[signal]
    pub(crate) fn enough(&mut self, _ctx: &mut SyncWorkflowContext<Self>, (): ()) {
        self.has_enough = true;
    }
}

#[rstest]
#[tokio::test]
async fn one_run_can_be_cancelled_and_its_workflow_goes_on(
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let told = Told::nothing();
    let model = FakeModel::script([tool_calls([("dig", json!({})), ("listen", json!({}))]), text("We have lunch.")]);
    let env = cache.environment::<Foreman>()?.model(&model).state(told.clone()).agents((digger,)).start().await?;
    let handle = env.start_workflow(Foreman::run, "Dig.".to_owned()).await?;
    until(&told.begun, 2).await?;
    handle.signal(Foreman::enough, (), WorkflowSignalOptions::default()).await?;
    let run = env.await_run(&handle).await?;
    until(&told.cleaned_up, 2).await?;
    histories::<Foreman>(&env, &run.workflow_id).await?;

    let ended: Vec<_> = run.activities().into_iter().map(|a| (a.activity_type, a.attempts, a.outcome)).collect();
    let ended_so = |kind: &str, outcome| (kind.to_owned(), 1, outcome);
    assert_eq!(
        ended,
        [
            ended_so("agents.call_model", ActivityOutcome::Completed),
            ended_so("agents.tool.dig", ActivityOutcome::Completed),
            ended_so("agents.tool.listen", ActivityOutcome::Cancelled),
            ended_so("agents.call_model", ActivityOutcome::Completed),
        ]
    );
    assert_eq!(count(&run.history, EventType::ActivityTaskCancelRequested), 2);
    assert_eq!(run.output()?, "We have lunch.");
    env.finish().await?;
    Ok(())
}
