//! Workers of other releases, and runs that wait for them.

use std::time::Duration;

use anyhow::Context;
use temporal_agents::AgentsPlugin;
use temporal_agents_testing::{
    AgentEnvironment,
    environment::WorkerThread,
    history::{self, History},
};
use temporalio_common::{WorkflowDefinition, protos::temporal::api::enums::v1::EventType};
use temporalio_sdk::WorkerOptions;
use temporalio_workflow::__private::sdk::WorkflowImplementation;
use tokio::time::timeout;

use crate::PATIENCE;

/// Starts a worker with this plugin beside that of the environment.
pub(super) fn beside<W>(env: &AgentEnvironment, plugin: AgentsPlugin) -> anyhow::Result<WorkerThread>
where
    W: WorkflowImplementation,
    <W::Run as WorkflowDefinition>::Input: Send,
{
    let mut options = WorkerOptions::new(env.task_queue()).build();
    options.graceful_shutdown_period = Some(Duration::from_secs(1));
    drop(options.register_workflow::<W>());
    plugin.install(&mut options)?;
    Ok(WorkerThread::start(env.server().target_url(), env.server().namespace(), options)?)
}

/// Stops the environment's worker and starts one with this plugin in its place.
pub(super) async fn takes_over<W>(env: &mut AgentEnvironment, plugin: AgentsPlugin) -> anyhow::Result<WorkerThread>
where
    W: WorkflowImplementation,
    <W::Run as WorkflowDefinition>::Input: Send,
{
    env.stop_worker().await?;
    beside::<W>(env, plugin)
}

/// The summaries of the timers of a history.
pub(super) fn timers(history: &History) -> Vec<String> {
    let timers = history.events.iter().filter(|event| event.event_type() == EventType::TimerStarted);
    let summaries = timers.filter_map(|event| event.user_metadata.as_ref()?.summary.as_ref());
    summaries.map(|summary| serde_json::from_slice(&summary.data).expect("a summary is a JSON text")).collect()
}

/// The summary of the first timer, once there is one.
pub(crate) async fn waiting(env: &AgentEnvironment, workflow_id: &str) -> anyhow::Result<String> {
    let looking = async {
        loop {
            let history = history::fetch(env.client(), workflow_id, None).await?;
            if let Some(summary) = timers(&history).into_iter().next() {
                return anyhow::Ok(summary);
            }
        }
    };
    timeout(PATIENCE, looking).await.context("the run waits for nobody")?
}
