//! The agents of `serve`, with a scripted model each: no key is needed.

mod browser;
mod clerk;
mod desk;
mod script;

use temporal_agents::{
    AgentsPlugin,
    in_process::InProcessRuns,
    store::SqlStore,
    worker::HeartbeatDeltas,
    workflow::{AgentSet, AgentWorkflow, ChatWorkflow},
};
use temporal_agents_testing::FakeModel;
use temporalio_sdk::WorkerOptions;

pub use self::{browser::browser, clerk::clerk, desk::desk};

fn set() -> AgentSet {
    AgentSet::new((desk, clerk, browser)).last_agent_continues()
}

/// Returns runs and chats of these agents as tasks of this process.
pub fn tasks(store: SqlStore) -> InProcessRuns {
    InProcessRuns::new(store, set(), FakeModel::function(|call, _| script::reply(call)))
}

/// Returns the options of a worker that serves runs and chats of these agents on a task queue, with
/// heartbeats as the transport of tokens.
///
/// # Errors
/// The agents are invalid.
pub fn worker(task_queue: &str) -> anyhow::Result<WorkerOptions> {
    let agents = set;
    let mut options = WorkerOptions::new(task_queue)
        .register_workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(agents()))?
        .build();
    options.register_workflow_with_factory::<ChatWorkflow, _>(ChatWorkflow::factory(agents()))?;
    let plugin = AgentsPlugin::new(FakeModel::function(|call, _| script::reply(call))).deltas(HeartbeatDeltas::new());
    plugin.agents((desk, clerk, browser)).install(&mut options)?;
    Ok(options)
}
