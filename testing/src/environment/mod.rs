//! A complete durable environment for a test: real dev server, client, worker; every run is
//! replayed afterwards.
//!
//! ```no_run
//! use serde_json::json;
//! use temporal_agents_testing::{
//!     AgentEnvironment,
//!     fake_model::{FakeModel, text, tool_call},
//! };
//! # use temporal_agents::{Agent, Runner, tool};
//! # use temporalio_workflow::{WorkflowContext, WorkflowResult};
//! # /// Current weather for one city.
//! # #[tool]
//! # async fn get_weather(city: String) -> String { city }
//! # fn triage() -> Agent { Agent::new("triage").model("gpt-5").tool(get_weather) }
//! # #[temporalio_macros::workflow]
//! # #[derive(Default)]
//! # pub struct Support;
//! # #[temporalio_macros::workflow_methods]
//! # impl Support {
//! #     #[run]
//! #     pub async fn run(
//! #         ctx: &mut WorkflowContext<Self>,
//! #         question: String,
//! #     ) -> WorkflowResult<String> {
//! #         Ok(Runner::new(ctx).run(&triage(), question).await?.final_output)
//! #     }
//! # }
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let model =
//!     FakeModel::script([tool_call("get_weather", json!({"city": "Oslo"})), text("12 degrees")]);
//! let env = AgentEnvironment::builder()
//!     .workflow::<Support>()?
//!     .model(&model)
//!     .agent(triage)
//!     .start()
//!     .await?;
//! let run = env.run(Support::run, "Weather in Oslo?".to_owned()).await?;
//! assert_eq!(run.output()?, "12 degrees");
//! env.finish().await?;
//! # Ok(())
//! # }
//! ```

mod builder;
mod error;
mod restart;
mod run;
mod worker;

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use temporal_agents::{AgentsPlugin, client::AgentHandle};
use temporalio_client::{Client, WorkflowGetResultOptions, WorkflowHandle, WorkflowHistory, WorkflowStartOptions};
use temporalio_common::{HasWorkflowDefinition, WorkflowDefinition};
use temporalio_sdk::{
    WorkerOptions,
    workflow_replayer::{WorkflowReplayer, WorkflowReplayerOptions},
};
use tokio::time::timeout;

pub use builder::AgentEnvironmentBuilder;
pub use error::EnvironmentError;
pub use run::{ActivityOutcome, ActivityRecord, FinishedRun, activities};
pub use worker::WorkerThread;

use crate::{
    dev_server::DevServer,
    fake_model::FakeModel,
    history::{self, History},
};

/// A workflow that takes longer hangs, most likely in a workflow task that fails repeatedly. (No
/// execution timeout is set: the server would reduce the timeouts of the workflow's activities to
/// it.)
const PATIENCE: Duration = Duration::from_mins(2);
/// The longest wait for the state of a workflow that hangs.
const QUERY_PATIENCE: Duration = Duration::from_secs(5);

/// A namespace of a dev server, a client and a worker with agents. Dropping it stops the worker,
/// and the server unless another environment of this process uses it.
pub struct AgentEnvironment {
    // Declared in the order in which they must be dropped.
    worker: Option<WorkerThread>,
    client: Client,
    server: DevServer,
    task_queue: String,
    worker_options: WorkerOptions,
    /// The plugin of an `AgentsWorker`; `None` if it is already installed in the worker's options.
    plugin: Option<AgentsPlugin>,
    workers: u32,
    replay: WorkflowReplayerOptions,
    models: Vec<FakeModel>,
    started: AtomicU32,
    /// Time within which a workflow must end.
    patience: Duration,
}

impl AgentEnvironment {
    /// Returns a builder with the default settings.
    pub fn builder() -> AgentEnvironmentBuilder {
        AgentEnvironmentBuilder::default()
    }

    /// Runs a workflow to its end, fetches its history and replays it.
    ///
    /// # Errors
    /// [`EnvironmentError::Replay`] if the history does not replay. A workflow that failed is not
    /// an error here: see [`FinishedRun::output`].
    pub async fn run<W>(&self, workflow: W, input: W::Input) -> Result<FinishedRun<W::Output>, EnvironmentError>
    where
        W: HasWorkflowDefinition,
        W::Input: Send,
    {
        let handle = self.start_workflow(workflow, input).await?;
        self.await_run(&handle).await
    }

    /// Starts a workflow and returns its handle, to signal, cancel or query it while it runs.
    ///
    /// # Errors
    /// If the server refuses the request.
    pub async fn start_workflow<W>(
        &self,
        workflow: W,
        input: W::Input,
    ) -> Result<WorkflowHandle<Client, W>, EnvironmentError>
    where
        W: HasWorkflowDefinition,
        W::Input: Send,
    {
        let number = self.started.fetch_add(1, Ordering::Relaxed);
        let id = format!("{}-{number}", WorkflowDefinition::name(&workflow));
        let options = WorkflowStartOptions::new(&*self.task_queue, id).build();
        Ok(self.client.start_workflow(workflow, input, options).await?)
    }

    /// Returns a handle of a started workflow for the callers that decide on its pending calls; the
    /// workflow must have `#[agent_handlers]`.
    pub fn agent_handle<W: HasWorkflowDefinition>(&self, started: &WorkflowHandle<Client, W>) -> AgentHandle {
        AgentHandle::new(&self.client, &*started.info().workflow_id)
    }

    /// Waits for a started workflow, fetches its history and replays it.
    ///
    /// # Errors
    /// The errors of [`run`](Self::run).
    pub async fn await_run<W>(
        &self,
        handle: &WorkflowHandle<Client, W>,
    ) -> Result<FinishedRun<W::Output>, EnvironmentError>
    where
        W: HasWorkflowDefinition,
    {
        let workflow_id = handle.info().workflow_id.clone();
        let result = handle.get_result(WorkflowGetResultOptions::default());
        let Ok(result) = timeout(self.patience, result).await else {
            let waits_for = self.waits_for(&workflow_id).await;
            return Err(EnvironmentError::Hangs { workflow_id, patience: self.patience, waits_for });
        };
        let history = history::fetch(&self.client, &workflow_id, None).await?;
        self.replay(&history).await?;
        Ok(FinishedRun { workflow_id, result, history })
    }

    /// Saves the history of a running or closed workflow to a file that
    /// [`ReplayCheck`](crate::ReplayCheck) reads, and creates its folder.
    ///
    /// # Errors
    /// [`EnvironmentError`], if the server refuses the request or the file cannot be written.
    pub async fn save_history(
        &self,
        workflow_id: &str,
        path: impl AsRef<std::path::Path>,
    ) -> Result<(), EnvironmentError> {
        let history = history::fetch(&self.client, workflow_id, None).await?;
        let path = path.as_ref();
        let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        folder.map_err(|source| EnvironmentError::Folder { path: path.to_owned(), source })?;
        Ok(history::save(path, &history)?)
    }

    /// Returns the calls of a workflow that wait for a decision; none if it does not answer.
    async fn waits_for(&self, workflow_id: &str) -> Vec<String> {
        let agent = AgentHandle::new(&self.client, workflow_id);
        match timeout(QUERY_PATIENCE, agent.state()).await {
            Ok(Ok(state)) => state.interruptions.iter().map(|call| format!("{} ({})", call.id, call.tool)).collect(),
            _ => Vec::new(),
        }
    }

    /// Replays a history against the environment's workflows, from its first event.
    ///
    /// # Errors
    /// [`EnvironmentError::Replay`] if the workflow code does not reproduce the history.
    pub async fn replay(&self, history: &History) -> Result<(), EnvironmentError> {
        let replayer = WorkflowReplayer::new(self.replay.clone())?;
        replayer.replay_workflow(WorkflowHistory::from(history.clone())).await?;
        Ok(())
    }

    /// Stops the worker, and the server unless another environment uses it, and verifies that each
    /// scripted model received exactly the calls of its script.
    ///
    /// # Errors
    /// [`EnvironmentError::Script`] with the mismatches of the models, or the error of the worker.
    pub async fn finish(mut self) -> Result<(), EnvironmentError> {
        let stopped = self.stop_worker().await;
        let Self { client, server, models, .. } = self;
        drop(client);
        server.shutdown().await;
        stopped?;
        let complaints: Vec<String> = models.iter().flat_map(FakeModel::complaints).collect();
        if complaints.is_empty() { Ok(()) } else { Err(EnvironmentError::Script { complaints }) }
    }

    /// The dev server. Other clients and workers use its [`namespace`](DevServer::namespace), which
    /// is not `default`.
    pub fn server(&self) -> &DevServer {
        &self.server
    }

    /// A client of the dev server.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The worker's task queue.
    pub fn task_queue(&self) -> &str {
        &self.task_queue
    }
}

impl std::fmt::Debug for AgentEnvironment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentEnvironment")
            .field("server", &self.server)
            .field("models", &self.models)
            .finish_non_exhaustive()
    }
}
