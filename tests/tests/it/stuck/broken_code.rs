//! Workflow code that cannot go on: it panics, blocks, or awaits a future that is not of its context.

use std::time::Duration;

use temporal_agents::{
    AgentsPlugin,
    client::{AgentHandle, AgentHandleError},
    wire::{AgentRequest, RunProblemKind},
};
use temporal_agents_testing::{DevServerOptions, FakeModel};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkerOptions, WorkflowContext, WorkflowResult};

use super::{QUEUE, Site, desk, listed, logged, problem, start};
use crate::http_service::until;

/// A workflow of an author under the name of the ready-made one, which the service shows.
#[workflow]
#[derive(Default)]
struct Panics;

#[workflow_methods]
impl Panics {
    #[run(name = "AgentWorkflow")]
    async fn run(ctx: &mut WorkflowContext<Self>, _request: AgentRequest) -> WorkflowResult<String> {
        ctx.wait_condition(|_| true).await?;
        panic!("the drawer is stuck")
    }
}

#[workflow]
#[derive(Default)]
struct Sleeps;

#[workflow_methods]
impl Sleeps {
    #[run(name = "AgentWorkflow")]
    async fn run(_ctx: &mut WorkflowContext<Self>, _request: AgentRequest) -> WorkflowResult<String> {
        tokio::time::sleep(Duration::from_millis(10)).await;
        Ok("done".to_owned())
    }
}

#[workflow]
#[derive(Default)]
struct Blocks;

#[workflow_methods]
impl Blocks {
    #[run(name = "AgentWorkflow")]
    async fn run(ctx: &mut WorkflowContext<Self>, _request: AgentRequest) -> WorkflowResult<String> {
        for _ in 0..2 {
            std::thread::sleep(Duration::from_millis(2100));
            ctx.timer(Duration::from_millis(1)).await;
        }
        Ok("done".to_owned())
    }
}

fn plugin() -> AgentsPlugin {
    AgentsPlugin::new(FakeModel::script([])).agents((desk,))
}

#[tokio::test]
async fn a_panic_in_workflow_code_is_shown_with_its_message() -> anyhow::Result<()> {
    // As in production, but after two failures in place of five.
    let attempts = "system.numConsecutiveWorkflowTaskProblemsToTriggerSearchAttribute=2";
    let extra = vec!["--dynamic-config-value".to_owned(), attempts.to_owned()];
    let site = Site::start_with(DevServerOptions::builder().extra_args(extra).build()).await?;
    let service = site.service((desk,));
    let options = WorkerOptions::new(QUEUE).register_workflow::<Panics>()?.build();
    let mut worker = site.worker(Some(plugin()), options)?;
    start(&service, "panics").await?;
    let found = problem(&service, "panics", "workflow_task_fails").await?;
    let message = found["message"].as_str().unwrap_or_default();
    assert!(message.starts_with("the workflow task fails again and again (attempt "), "{message}");
    assert!(message.contains("the drawer is stuck"), "{message}");
    // A replica that has not looked at the run has it from the server's search attribute.
    let handle = AgentHandle::new(&site.client, "panics");
    let has_kind = |kind| kind == RunProblemKind::WorkflowTaskFails;
    assert!(handle.problem().await.is_some_and(|problem| has_kind(problem.kind)));
    let reported = async {
        loop {
            let listed = listed(&site.service((desk,)), "panics", "workflow_task_fails").await?;
            if listed["message"].as_str().is_some_and(|message| message.ends_with("WorkflowWorkerUnhandledFailure")) {
                return anyhow::Ok(listed);
            }
        }
    };
    let listed = tokio::time::timeout(crate::PATIENCE, reported).await??;
    assert_eq!(listed["remedy"], "GET /runs/panics and the worker's log have the failure");
    match handle.state().await {
        Err(AgentHandleError::Stuck { problem, .. }) => assert!(has_kind(problem.kind), "{problem}"),
        other => panic!("{other:?}"),
    }
    worker.stop()?;
    site.shutdown().await;
    Ok(())
}

#[tokio::test]
async fn a_sleep_of_tokio_in_workflow_code_is_shown_and_logged_once() -> anyhow::Result<()> {
    let site = Site::start().await?;
    let service = site.service((desk,));
    let options = WorkerOptions::new(QUEUE).register_workflow::<Sleeps>()?.build();
    let mut worker = site.worker(Some(plugin()), options)?;
    start(&service, "sleeps-foreign").await?;
    let found = problem(&service, "sleeps-foreign", "awaits_foreign_future").await?;
    assert_eq!(
        found["message"],
        "the workflow awaits something that is not its context's, such as tokio::time::sleep or a spawned task"
    );
    let lines = logged("sleeps-foreign", "this workflow awaits something that is not its context's").await?;
    assert!(lines[0].contains("WARN") && lines[0].contains("use ctx.timer(..)"), "{lines:?}");
    worker.stop()?;
    site.shutdown().await;
    let lines = logged("sleeps-foreign", "this workflow awaits something that is not its context's").await?;
    assert_eq!(lines.len(), 1, "{lines:?}");
    Ok(())
}

#[tokio::test]
async fn workflow_code_that_blocks_is_logged_once() -> anyhow::Result<()> {
    let site = Site::start().await?;
    let service = site.service((desk,));
    let options = WorkerOptions::new(QUEUE).register_workflow::<Blocks>()?.build();
    let mut worker = site.worker(Some(plugin()), options)?;
    start(&service, "blocked-thread").await?;
    until(&service, "/runs/blocked-thread", |run| run["status"] == "completed").await?;
    worker.stop()?;
    site.shutdown().await;
    let lines = logged("blocked-thread", "this workflow's code has blocked its thread").await?;
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains("WARN") && lines[0].contains("into an activity"), "{lines:?}");
    println!("{}", lines[0]);
    Ok(())
}
