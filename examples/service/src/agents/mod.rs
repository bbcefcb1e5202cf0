//! The agents of `serve`, with a scripted model each: no key is needed.

mod browser;
mod clerk;
mod desk;
mod script;

use std::time::Duration;

use temporal_agents::{
    AgentsPlugin, ModelActivityOptions, Resources,
    in_process::InProcessRuns,
    store::SqlStore,
    worker::{BrokerDeltas, HeartbeatDeltas},
    workflow::{AgentSet, AgentWorkflow, ChatWorkflow},
};
use temporal_agents_testing::FakeModel;
use temporalio_sdk::WorkerOptions;

pub use self::{browser::browser, clerk::clerk, desk::desk};

/// The name of the store of threads.
const THREADS: &str = "threads";
/// Time after which a model call of a worker that was killed is made again.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// Returns the agents; with a store, runs have threads in it, and chats are kept.
pub fn set(store: Option<&SqlStore>) -> AgentSet {
    let model = ModelActivityOptions::builder().heartbeat(HEARTBEAT).build();
    let set = AgentSet::new((desk, clerk, browser)).last_agent_continues().model_activity(model);
    if store.is_some() { set.thread_store(THREADS).keep_chats() } else { set }
}

/// Returns runs and chats of these agents as tasks of this process. Without `deltas`, only this
/// process streams their tokens.
pub fn tasks(store: &SqlStore, deltas: Option<BrokerDeltas>) -> InProcessRuns {
    let resources = Resources::new()
        .model_provider(FakeModel::function(|call, _| script::reply(call)).forget_calls())
        .session_store(THREADS, store.clone());
    let tasks = InProcessRuns::new(store.clone(), set(Some(store)), resources);
    match deltas {
        Some(deltas) => tasks.deltas(deltas),
        None => tasks,
    }
}

/// Returns the options of a worker that serves runs and chats of these agents on a task queue. With
/// a store, it has the conversations of threads. Without `deltas`, heartbeats carry tokens.
///
/// # Errors
/// The agents are invalid.
pub fn worker(
    task_queue: &str,
    store: Option<&SqlStore>,
    deltas: Option<BrokerDeltas>,
) -> anyhow::Result<WorkerOptions> {
    let agents = || set(store);
    let mut options = WorkerOptions::new(task_queue)
        .register_workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(agents()))?
        .build();
    options.register_workflow_with_factory::<ChatWorkflow, _>(ChatWorkflow::factory(agents()))?;
    let mut resources =
        Resources::new().model_provider(FakeModel::function(|call, _| script::reply(call)).forget_calls());
    if let Some(store) = store {
        resources = resources.session_store(THREADS, store.clone());
    }
    let plugin = AgentsPlugin::new(resources);
    let plugin = match deltas {
        Some(deltas) => plugin.deltas(deltas),
        None => plugin.deltas(HeartbeatDeltas::new()),
    };
    plugin.agents((desk, clerk, browser)).install(&mut options)?;
    Ok(options)
}
