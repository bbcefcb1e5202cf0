//! The builder of an environment.

use std::{
    sync::{Arc, atomic::AtomicU32},
    time::Duration,
};

use temporal_agents::{
    AgentsPlugin, ModelProvider, Resources,
    agent::{AgentSource, AgentSources},
    store::{AgentStore, Session},
    worker::ConversationCache,
};
use temporalio_client::ClientOptions;
use temporalio_common::{WorkflowDefinition, data_converters::DataConverter};
use temporalio_sdk::{WorkerOptions, workflow_replayer::WorkflowReplayerOptions};
use temporalio_workflow::__private::sdk::WorkflowImplementation;

use super::{AgentEnvironment, EnvironmentError, PATIENCE};
use crate::{
    dev_server::{DevServer, DevServerOptions},
    fake_model::FakeModel,
};

type Configure = Box<dyn FnOnce(&mut WorkerOptions) + Send>;

/// Builds an [`AgentEnvironment`].
#[derive(Default)]
pub struct AgentEnvironmentBuilder {
    plugin: AgentsPlugin,
    models: Vec<FakeModel>,
    workflows: Vec<Configure>,
    replay: Option<WorkflowReplayerOptions>,
    configure: Vec<Configure>,
    server: Option<DevServerOptions>,
    without_cache: bool,
    agents_worker: bool,
    data_converter: DataConverter,
    patience: Option<Duration>,
}

impl AgentEnvironmentBuilder {
    /// Registers a workflow with the worker and with the replayer.
    ///
    /// # Errors
    /// If a workflow of this type is already registered.
    pub fn workflow<W>(mut self) -> Result<Self, EnvironmentError>
    where
        W: WorkflowImplementation,
        <W::Run as WorkflowDefinition>::Input: Send,
    {
        let mut replay = self.replay.unwrap_or_else(|| WorkflowReplayerOptions::new().build());
        replay.register_workflow::<W>()?;
        self.replay = Some(replay);
        // The registration with the replayer has just shown that the type is new.
        self.workflows.push(Box::new(|options| drop(options.register_workflow::<W>())));
        Ok(self)
    }

    /// Registers a workflow that a function creates, such as `AgentWorkflow::factory(..)`.
    ///
    /// # Errors
    /// If a workflow of this type is already registered.
    pub fn workflow_with_factory<W, F>(mut self, factory: F) -> Result<Self, EnvironmentError>
    where
        W: WorkflowImplementation,
        <W::Run as WorkflowDefinition>::Input: Send,
        F: Fn() -> W + Send + Sync + 'static,
    {
        let factory = Arc::new(factory);
        let of_replay = Arc::clone(&factory);
        let mut replay = self.replay.unwrap_or_else(|| WorkflowReplayerOptions::new().build());
        replay.register_workflow_with_factory::<W, _>(move || of_replay())?;
        self.replay = Some(replay);
        // The registration with the replayer has just shown that the type is new.
        self.workflows.push(Box::new(move |options| {
            drop(options.register_workflow_with_factory::<W, _>(move || factory()));
        }));
        Ok(self)
    }

    /// Adds a scripted model, which `finish` verifies.
    #[must_use]
    pub fn model(mut self, model: &FakeModel) -> Self {
        self.models.push(model.clone());
        self.model_provider(model.clone())
    }

    /// Adds any other model provider.
    #[must_use]
    pub fn model_provider(self, provider: impl ModelProvider + 'static) -> Self {
        self.resources(|resources| resources.model_provider(provider))
    }

    /// Declares that the worker calls no models; see [`AgentsPlugin::without_models`].
    #[must_use]
    pub fn without_models(mut self) -> Self {
        self.plugin = self.plugin.without_models();
        self
    }

    /// Adds a state for tools that take `State<T>`.
    #[must_use]
    pub fn state<T: Clone + Send + Sync + 'static>(self, state: T) -> Self {
        self.resources(|resources| resources.state(state))
    }

    /// Adds a session store under this name, by which runs refer to it.
    #[must_use]
    pub fn session_store(self, name: impl Into<String>, store: impl Session + 'static) -> Self {
        self.resources(|resources| resources.session_store(name, store))
    }

    /// Sets the store of agents as data.
    #[must_use]
    pub fn agent_store(self, store: impl AgentStore + 'static) -> Self {
        self.resources(|resources| resources.agent_store(store))
    }

    /// Adds an MCP server under this name, by which the worker refers to it.
    #[cfg(feature = "mcp")]
    #[must_use]
    pub fn mcp_server(self, name: impl Into<String>, transport: impl Into<temporal_agents::mcp::McpTransport>) -> Self {
        self.resources(|resources| resources.mcp_server(name, transport))
    }

    /// Applies any other change to the worker's resources: spill store, environment variables. A
    /// closure that ignores its argument, such as `|_| declared()`, replaces all resources that
    /// were set before, also scripted models.
    #[must_use]
    pub fn resources(mut self, change: impl FnOnce(Resources) -> Resources) -> Self {
        self.plugin = self.plugin.map_resources(change);
        self
    }

    /// Adds a start agent of the workflows, or a function that makes it.
    #[must_use]
    pub fn agent(mut self, agent: impl AgentSource) -> Self {
        self.plugin = self.plugin.agent(agent);
        self
    }

    /// Adds the start agents of the workflows.
    #[must_use]
    pub fn agents(mut self, agents: impl AgentSources) -> Self {
        self.plugin = self.plugin.agents(agents);
        self
    }

    /// Sets the worker's cache of conversations; with a cache of 0 bytes the worker reads each
    /// conversation from the workflow's history.
    #[must_use]
    pub fn conversation_cache(mut self, cache: ConversationCache) -> Self {
        self.plugin = self.plugin.conversation_cache(cache);
        self
    }

    /// Applies any other change to the plugin: tools without an agent, guardrails of a `RunConfig`.
    #[must_use]
    pub fn plugin(mut self, change: impl FnOnce(AgentsPlugin) -> AgentsPlugin) -> Self {
        self.plugin = change(self.plugin);
        self
    }

    /// Uses an `AgentsWorker`, as in production for sessions with stateful MCP servers.
    #[must_use]
    pub fn agents_worker(mut self) -> Self {
        self.agents_worker = true;
        self
    }

    /// Disables the worker's workflow cache: each workflow task replays the history from its first
    /// event.
    #[must_use]
    pub fn without_workflow_cache(mut self) -> Self {
        self.without_cache = true;
        self
    }

    /// Applies any change to the worker's options.
    #[must_use]
    pub fn worker_options(mut self, configure: impl FnOnce(&mut WorkerOptions) + Send + 'static) -> Self {
        self.configure.push(Box::new(configure));
        self
    }

    /// Sets the data converter of client, worker and replayer, with its codec.
    #[must_use]
    pub fn data_converter(mut self, converter: DataConverter) -> Self {
        self.data_converter = converter;
        self
    }

    /// Starts a dev server with these options for this environment alone. Default: the environments
    /// of a process share a server, each in a namespace of its own. A shared server runs no
    /// schedules and batch operations, and Nexus endpoints would be visible in all environments. A
    /// worker with deployment options gets a server of its own.
    #[must_use]
    pub fn server_options(mut self, options: DevServerOptions) -> Self {
        self.server = Some(options);
        self
    }

    /// Sets how long the environment waits for a workflow to end. Default: 2 minutes. Increase it for
    /// slow tests on busy machines.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = Some(patience);
        self
    }

    /// Starts the server and the worker.
    ///
    /// # Errors
    /// [`EnvironmentError`].
    pub async fn start(self) -> Result<AgentEnvironment, EnvironmentError> {
        let Some(mut replay) = self.replay else { return Err(EnvironmentError::NoWorkflow) };
        let patience = self.patience.unwrap_or(PATIENCE);
        let Self { plugin, models, workflows, configure, server, without_cache, agents_worker, data_converter, .. } =
            self;
        replay.data_converter = data_converter.clone();
        let task_queue = "agents".to_owned();
        let mut options = WorkerOptions::new(&*task_queue).build();
        options.graceful_shutdown_period = Some(Duration::from_secs(1));
        // Tests have short heartbeat timeouts: with this interval, a due heartbeat is sent
        // immediately, and its response reports cancellation.
        options.max_heartbeat_throttle_interval = Duration::from_millis(100);
        if without_cache {
            options.max_cached_workflows = 0;
        }
        for register in workflows {
            register(&mut options);
        }
        // An `AgentsWorker` installs the plugin by itself.
        let plugin = if agents_worker {
            Some(plugin)
        } else {
            plugin.install(&mut options)?;
            None
        };
        for change in configure {
            change(&mut options);
        }
        // The shared servers do not run the system workflows of worker deployments.
        let server = match server {
            Some(options) => DevServer::start_with(options).await?,
            None if options.deployment_options.use_worker_versioning => DevServer::start().await?,
            None => DevServer::shared().await?,
        };
        let client_options = ClientOptions::new(server.namespace()).data_converter(data_converter).build();
        let client = server.client_with(client_options).await?;
        let mut env = AgentEnvironment {
            worker: None,
            client,
            server,
            task_queue,
            worker_options: options,
            plugin,
            workers: 0,
            replay,
            models,
            started: AtomicU32::new(0),
            patience,
        };
        env.start_worker()?;
        Ok(env)
    }
}

impl std::fmt::Debug for AgentEnvironmentBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentEnvironmentBuilder").field("plugin", &self.plugin).finish_non_exhaustive()
    }
}
