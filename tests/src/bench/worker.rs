//! A worker that serves all of it, and a replayer for its histories, both with the SDK's defaults.

use temporal_agents::AgentsPlugin;
use temporalio_sdk::{
    WorkerOptions,
    workflow_replayer::{WorkflowReplayer, WorkflowReplayerOptions},
};

use super::{AgentBench, FloorBare, FloorConv, agents, floor::FloorActivities, model::ScriptedModel};

/// The options of a worker on this task queue.
///
/// # Errors
/// When the SDK or the plugin refuses what is registered.
pub fn options(task_queue: &str) -> anyhow::Result<WorkerOptions> {
    let mut options = WorkerOptions::new(task_queue)
        .register_workflow::<AgentBench>()?
        .register_workflow::<FloorBare>()?
        .register_workflow::<FloorConv>()?
        .register_activities(FloorActivities)
        .build();
    let agents = (agents::chat, agents::assistant, agents::triage);
    AgentsPlugin::new().model_provider(ScriptedModel).agents(agents).install(&mut options)?;
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
