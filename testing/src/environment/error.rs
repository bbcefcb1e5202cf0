//! The errors of a test environment.

use std::{path::PathBuf, time::Duration};

use temporal_agents::__private::error_debug;
use temporal_agents::worker::InstallError;
use temporalio_client::errors::{WorkflowInteractionError, WorkflowStartError};
use temporalio_sdk::{WorkflowRegistrationError, workflow_replayer::WorkflowReplayError};

use crate::{dev_server::DevServerError, history::HistoryFileError};

/// The errors of a test environment, apart from those of the workflow under test.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum EnvironmentError {
    /// The dev server could not be started, or could not be reached.
    #[error(transparent)]
    Server(#[from] DevServerError),
    /// A history cannot be written to its file.
    #[error(transparent)]
    File(#[from] HistoryFileError),
    /// The folder of a history cannot be created.
    #[error("the folder of {} cannot be created", path.display())]
    Folder {
        /// Path of the history.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// The plugin could not be installed, for example because its agents are invalid.
    #[error(transparent)]
    Install(#[from] InstallError),
    /// Two workflows have the same type.
    #[error(transparent)]
    Registration(#[from] WorkflowRegistrationError),
    /// The server refused to start the workflow.
    #[error("the workflow could not be started: {0}")]
    Start(#[from] WorkflowStartError),
    /// The history could not be fetched.
    #[error("the history could not be fetched: {0}")]
    History(#[from] WorkflowInteractionError),
    /// The history does not replay.
    #[error("the run does not replay: {0}")]
    Replay(#[from] WorkflowReplayError),
    /// The environment has no workflow to run.
    #[error("no workflow is registered; add .workflow::<YourWorkflow>()? to the builder")]
    NoWorkflow,
    /// The workflow did not end in time.
    #[error(
        "workflow {workflow_id:?} did not end within {patience:?}: {}",
        cause_of_a_hang(.waits_for)
    )]
    Hangs {
        /// Id of the workflow.
        workflow_id: String,
        /// Time waited for the workflow.
        patience: Duration,
        /// The calls that wait for a decision, as `ID (TOOL)`.
        waits_for: Vec<String>,
    },
    /// The worker could not be started, or failed.
    #[error("the worker failed: {0}")]
    Worker(String),
    /// The calls of the scripted models do not match their scripts.
    #[error("the scripted models:\n- {}", .complaints.join("\n- "))]
    Script {
        /// The mismatches found by the models.
        complaints: Vec<String>,
    },
}

error_debug!(enum EnvironmentError {
    File(source),
    Folder { path, source },
    Server(source),
    Install(source),
    Registration(source),
    Start(source),
    History(source),
    Replay(source),
    NoWorkflow,
    Hangs { workflow_id, patience, waits_for },
    Worker(source),
    Script { complaints },
});

fn cause_of_a_hang(waits_for: &[String]) -> String {
    if waits_for.is_empty() {
        return "a workflow task fails repeatedly, or no worker polls for an activity (an agent that is missing in \
                AgentEnvironmentBuilder::agents); inspect it with AgentEnvironment::start_workflow and its handle's \
                describe()"
            .to_owned();
    }
    format!(
        "it waits for decisions on {}; start it with AgentEnvironment::start_workflow, and decide with \
         agent_handle(..)",
        waits_for.join(", ")
    )
}
