//! Starts runs in both modes, with the same ids.

use std::{fmt, sync::Arc};

use temporal_agents_core::wire::RunMode;
use temporalio_client::Client;
use uuid::Uuid;

use super::{
    NewRun, StartRunError,
    agent_runs::{NotStarted, WorkflowRuns},
    process_runs::ProcessRuns,
};

/// Starts runs and chats: as workflows (`AgentWorkflow`, `ChatWorkflow`) on a task queue, or as
/// tasks of this process.
///
/// ```no_run
/// use temporal_agents::{client::{AgentRuns, NewRun}, wire::AgentRequest};
/// # async fn start(
/// #     client: &temporalio_client::Client,
/// # ) -> Result<(), Box<dyn std::error::Error>> {
///
/// let runs = AgentRuns::new(client, "support");
/// let request = AgentRequest::new("triage", "Where is my parcel?");
/// let id = runs.start_run(NewRun::new(request).id("parcel-7").label("customer", "4711")).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct AgentRuns {
    workflows: Option<WorkflowRuns>,
    process: Option<Arc<dyn ProcessRuns>>,
    /// The mode of runs that choose none.
    mode: RunMode,
}

impl AgentRuns {
    /// Creates a starter of runs on this task queue; sends nothing yet.
    pub fn new(client: &Client, task_queue: impl Into<String>) -> Self {
        let workflows = Some(WorkflowRuns::new(client, task_queue));
        Self { workflows, process: None, mode: RunMode::Temporal }
    }

    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub(crate) fn of_process(process: Arc<dyn ProcessRuns>) -> Self {
        Self { workflows: None, process: Some(process), mode: RunMode::InProcess }
    }

    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub(crate) fn with_process(mut self, process: Arc<dyn ProcessRuns>) -> Self {
        self.process = Some(process);
        self
    }

    /// Sets the mode of runs that choose none: by default that of the constructor.
    #[must_use]
    pub fn mode(mut self, mode: RunMode) -> Self {
        self.mode = mode;
        self
    }

    /// Starts all workflows with the search attributes of runs; see [`NewRun::indexed`].
    #[must_use]
    pub fn indexed(mut self) -> Self {
        self.workflows = self.workflows.map(WorkflowRuns::indexed);
        self
    }

    /// Starts a run or a chat, and returns its id, which is that of the workflow or of the task. A
    /// run with this id that exists already, in either mode, is not started again, whether or not
    /// it has ended, unless [`NewRun::id_conflict`] chooses otherwise. The server forgets a
    /// workflow after the namespace's retention period; a task is known as long as its row exists.
    ///
    /// # Errors
    /// [`StartRunError`], if the run chooses a mode that is not available here, or if the server or
    /// the store refuses the request or is unavailable.
    ///
    /// # Retries
    /// With an id, the same call may be repeated: it starts one run. Without, each call starts one.
    pub async fn start_run(&self, run: NewRun) -> Result<String, StartRunError> {
        let has_id = run.id.is_some();
        let id = run.id.clone().unwrap_or_else(|| Uuid::new_v4().to_string());
        match (run.mode.unwrap_or(self.mode), &self.workflows, &self.process) {
            (RunMode::Temporal, Some(workflows), process) => {
                if let (Some(process), true) = (process, has_id)
                    && process
                        .find(&id)
                        .await
                        .map_err(|error| StartRunError::new(&id, NotStarted::Server, error))?
                        .is_some()
                {
                    return process.start(id, run).await;
                }
                workflows.start_run(run.id(id)).await
            }
            (RunMode::InProcess, workflows, Some(process)) => {
                if let (Some(workflows), true) = (workflows, has_id)
                    && workflows.has(&id).await?
                {
                    return workflows.start_run(run.id(id)).await;
                }
                process.start(id, run).await
            }
            (RunMode::Temporal, None, _) => {
                let problem = "no Temporal client is set up here; leave the mode out, or use \"inprocess\"";
                Err(StartRunError::new(&id, NotStarted::Invalid, problem))
            }
            (RunMode::InProcess, _, None) => {
                let problem = "no runs in the process are set up here; leave the mode out, or use \"temporal\"";
                Err(StartRunError::new(&id, NotStarted::Invalid, problem))
            }
        }
    }

    /// Returns the runs that are workflows.
    #[cfg(feature = "http")]
    pub(crate) fn workflows(&self) -> Option<&WorkflowRuns> {
        self.workflows.as_ref()
    }

    /// Returns the runs that are tasks of processes.
    #[cfg(feature = "http")]
    pub(crate) fn process(&self) -> Option<&Arc<dyn ProcessRuns>> {
        self.process.as_ref()
    }

    /// Returns the mode of runs that choose none.
    #[cfg(feature = "http")]
    pub(crate) fn default_mode(&self) -> RunMode {
        self.mode
    }
}

impl fmt::Debug for AgentRuns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentRuns")
            .field("workflows", &self.workflows)
            .field("mode", &self.mode)
            .finish_non_exhaustive()
    }
}
