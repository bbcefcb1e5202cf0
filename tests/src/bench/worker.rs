//! A worker that serves all workflows of the benchmarks, and a replayer for their histories, both
//! with the SDK's defaults unless configured otherwise.

use std::time::Duration;

use temporal_agents::{AgentsPlugin, worker::ConversationCache};
use temporalio_sdk::{
    WorkerOptions,
    workflow_replayer::{WorkflowReplayer, WorkflowReplayerOptions},
};

use super::{
    AgentBench, BurstBench, EndlessBench, FloorBare, FloorConv, agents,
    floor::FloorActivities,
    model::{PausingModel, ScriptedModel},
};

/// The sizes of a worker's caches; `None` is the default.
#[derive(Clone, Copy, Debug, Default)]
pub struct Memory {
    /// Size of the conversation cache, in bytes.
    pub conversation_bytes: Option<usize>,
    /// Number of cached workflows.
    pub cached_workflows: Option<usize>,
}

/// Returns the options of a worker on this task queue, whose model answers after this pause.
///
/// # Errors
/// If the SDK or the plugin refuses a registration.
pub fn options(task_queue: &str, memory: Memory, model_pause: Duration) -> anyhow::Result<WorkerOptions> {
    let mut options = WorkerOptions::new(task_queue)
        .register_workflow::<AgentBench>()?
        .register_workflow::<EndlessBench>()?
        .register_workflow::<BurstBench>()?
        .register_workflow::<FloorBare>()?
        .register_workflow::<FloorConv>()?
        .register_activities(FloorActivities)
        .build();
    let agents = (agents::chat, agents::assistant, agents::triage);
    let plugin = if model_pause.is_zero() {
        AgentsPlugin::new(ScriptedModel)
    } else {
        AgentsPlugin::new(PausingModel(model_pause))
    };
    let mut plugin = plugin.agents(agents);
    if let Some(bytes) = memory.conversation_bytes {
        plugin = plugin.conversation_cache(ConversationCache::with_bytes(bytes));
    }
    plugin.install(&mut options)?;
    if let Some(workflows) = memory.cached_workflows {
        options.max_cached_workflows = workflows;
    }
    Ok(options)
}

/// Creates a replayer of the workflows `agent_bench`, `floor_bare` and `floor_conv`.
///
/// # Errors
/// If the SDK refuses a registration.
pub fn replayer() -> anyhow::Result<WorkflowReplayer> {
    let options = WorkflowReplayerOptions::new()
        .register_workflow::<AgentBench>()?
        .register_workflow::<FloorBare>()?
        .register_workflow::<FloorConv>()?
        .build();
    Ok(WorkflowReplayer::new(options)?)
}
