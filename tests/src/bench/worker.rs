//! A worker that serves all of it, and a replayer for its histories, both with the SDK's defaults unless told otherwise.

use temporal_agents::{AgentsPlugin, worker::ConversationCache};
use temporalio_sdk::{
    WorkerOptions,
    workflow_replayer::{WorkflowReplayer, WorkflowReplayerOptions},
};

use super::{
    AgentBench, BurstBench, EndlessBench, FloorBare, FloorConv, agents, floor::FloorActivities, model::ScriptedModel,
};

/// What a worker keeps in memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct Memory {
    /// Bytes of conversations.
    pub conversation_bytes: Option<usize>,
    /// Workflows.
    pub cached_workflows: Option<usize>,
}

/// The options of a worker on this task queue.
///
/// # Errors
/// When the SDK or the plugin refuses what is registered.
pub fn options(task_queue: &str, memory: Memory) -> anyhow::Result<WorkerOptions> {
    let mut options = WorkerOptions::new(task_queue)
        .register_workflow::<AgentBench>()?
        .register_workflow::<EndlessBench>()?
        .register_workflow::<BurstBench>()?
        .register_workflow::<FloorBare>()?
        .register_workflow::<FloorConv>()?
        .register_activities(FloorActivities)
        .build();
    let agents = (agents::chat, agents::assistant, agents::triage);
    let mut plugin = AgentsPlugin::new().model_provider(ScriptedModel).agents(agents);
    if let Some(bytes) = memory.conversation_bytes {
        plugin = plugin.conversation_cache(ConversationCache::with_bytes(bytes));
    }
    plugin.install(&mut options)?;
    if let Some(workflows) = memory.cached_workflows {
        options.max_cached_workflows = workflows;
    }
    Ok(options)
}

/// A replayer of the workflows.
///
/// # Errors
/// When the SDK refuses what is registered.
pub fn replayer() -> anyhow::Result<WorkflowReplayer> {
    let options = WorkflowReplayerOptions::new()
        .register_workflow::<AgentBench>()?
        .register_workflow::<FloorBare>()?
        .register_workflow::<FloorConv>()?
        .build();
    Ok(WorkflowReplayer::new(options)?)
}
