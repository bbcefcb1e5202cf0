//! A worker on another task queue: an activity and a workflow that know nothing of agents, and a workflow that runs one.

use std::time::Duration;

use serde_json::Value;
use temporal_agents::{AgentsPlugin, workflow::AgentWorkflow};
use temporal_agents_testing::{AgentEnvironment, FakeModel, environment::WorkerThread};
use temporalio_common::error::ApplicationFailure;
use temporalio_macros::{activities, workflow, workflow_methods};
use temporalio_sdk::{
    WorkerOptions, WorkflowContext, WorkflowResult,
    activities::{ActivityContext, ActivityError},
};

use super::{
    agents::{far_helper, set},
    bodies::{LARGE, PANIC, begins},
};

pub(super) const QUEUE: &str = "elsewhere";
pub(super) const WORKFLOW: &str = "act_at_length";

pub(crate) struct Acts;

#[activities]
impl Acts {
    #[activity(name = "act")]
    pub(crate) async fn act(ctx: ActivityContext, asked: Value) -> Result<String, ActivityError> {
        let lost = |message: &str| {
            ActivityError::Application(Box::new(
                ApplicationFailure::builder(message.to_owned()).type_name("Lost".to_owned()).build(),
            ))
        };
        match asked["how"].as_str().unwrap_or_default() {
            "error" => Err(lost("the disk at 10.0.0.7 is full")),
            "panic" => panic!("{PANIC}"),
            "oversized" => Ok("x".repeat(LARGE)),
            "timeout" => {
                ctx.cancelled().await;
                Err(ActivityError::cancelled())
            }
            "cancelled" => {
                begins(asked["tool"].as_str().unwrap_or_default());
                loop {
                    // Whether it beats in vain shows at the next one.
                    let _ = ctx.record_heartbeat(()).await;
                    if ctx.is_cancelled() {
                        return Err(ActivityError::cancelled());
                    }
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
            _ => Ok("fine".to_owned()),
        }
    }
}

/// The type of the activity.
pub(super) fn activity() -> String {
    Acts::act.name().to_owned()
}

#[workflow]
#[derive(Default)]
pub(crate) struct AtLength;

#[workflow_methods]
impl AtLength {
    #[run(name = "act_at_length")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, asked: Value) -> WorkflowResult<String> {
        match asked["how"].as_str().unwrap_or_default() {
            "error" => {
                let failure = ApplicationFailure::builder("the disk at 10.0.0.7 is full".to_owned());
                Err(failure.type_name("Lost".to_owned()).build().into())
            }
            "oversized" => Ok("x".repeat(LARGE)),
            "timeout" | "cancelled" | "cancelled elsewhere" => {
                ctx.wait_condition(|_| false).await?;
                Ok("never".to_owned())
            }
            _ => Ok("fine".to_owned()),
        }
    }
}

/// Starts it.
pub(super) fn start(env: &AgentEnvironment, model: &FakeModel) -> anyhow::Result<WorkerThread> {
    let mut options = WorkerOptions::new(QUEUE)
        .register_activities(Acts)
        .register_workflow::<AtLength>()?
        .register_workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(set()))?
        .build();
    options.max_heartbeat_throttle_interval = Duration::from_millis(100);
    AgentsPlugin::new(model.clone()).agents((far_helper,)).install(&mut options)?;
    Ok(WorkerThread::start(env.server().target_url(), env.server().namespace(), options)?)
}
