//! A worker that serves all workflows of the benchmarks, and a replayer for their histories, both
//! with the SDK's defaults unless configured otherwise.

use std::time::Duration;

use temporal_agents::{
    AgentsPlugin, Resources,
    worker::ConversationCache,
    workflow::{AgentSet, AgentWorkflow, ChatWorkflow},
};
use temporalio_sdk::{
    WorkerOptions,
    workflow_replayer::{WorkflowReplayer, WorkflowReplayerOptions},
};

use super::{
    AgentBench, BurstBench, EndlessBench, FloorBare, FloorConv, ParkedBare, ParkedConv, StreamBench, agents,
    floor::FloorActivities,
    model::{PausingModel, ScriptedModel},
    stream,
    streaming_model::StreamingModel,
    transport::Transport,
};

/// The sizes of a worker's caches; `None` is the default.
#[derive(Clone, Copy, Debug, Default)]
pub struct Memory {
    /// Size of the conversation cache, in bytes.
    pub conversation_bytes: Option<usize>,
    /// Number of cached workflows.
    pub cached_workflows: Option<usize>,
}

/// The settings of a worker.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The sizes of its caches.
    pub memory: Memory,
    /// The pause of its model before each answer. The model that streams has its own pauses.
    pub model_pause: Duration,
    /// The transport of its deltas.
    pub deltas: Transport,
    /// Returns the time in nanoseconds, on a clock that all processes of the machine share.
    pub clock: fn() -> u64,
}

/// Returns the options of a worker on this task queue. `observed` sets its traces and metrics.
///
/// # Errors
/// If the SDK or the plugin refuses a registration.
pub fn options(
    task_queue: &str,
    settings: Settings,
    observed: impl FnOnce(AgentsPlugin) -> AgentsPlugin,
) -> anyhow::Result<WorkerOptions> {
    let Settings { memory, model_pause, deltas, clock } = settings;
    let ready_made = AgentSet::new((agents::clerk, stream::narrator));
    let mut options = WorkerOptions::new(task_queue)
        .register_workflow::<AgentBench>()?
        .register_workflow::<EndlessBench>()?
        .register_workflow::<BurstBench>()?
        .register_workflow::<StreamBench>()?
        .register_workflow::<FloorBare>()?
        .register_workflow::<FloorConv>()?
        .register_workflow::<ParkedBare>()?
        .register_workflow::<ParkedConv>()?
        .register_workflow_with_factory::<ChatWorkflow, _>(ChatWorkflow::factory(ready_made.clone()))?
        .register_workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(ready_made))?
        .register_activities(FloorActivities)
        .build();
    let agents = (agents::chat, agents::assistant, agents::triage, agents::clerk, stream::narrator);
    // The other models answer to any name.
    let resources = Resources::new().model_provider(StreamingModel(clock));
    let resources = if model_pause.is_zero() {
        resources.model_provider(ScriptedModel)
    } else {
        resources.model_provider(PausingModel(model_pause))
    };
    let mut plugin = deltas.install(AgentsPlugin::new(resources)).agents(agents);
    if let Some(bytes) = memory.conversation_bytes {
        plugin = plugin.conversation_cache(ConversationCache::with_bytes(bytes));
    }
    observed(plugin).install(&mut options)?;
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
