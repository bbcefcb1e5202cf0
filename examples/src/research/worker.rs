//! The worker of the research, in this process or as a child process that can be killed.

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use temporal_agents::{Resources, inline::InlineRunner, mcp::McpTransport, provider::OpenAi};
use temporal_agents_testing::environment::WorkerThread;
use temporalio_sdk::WorkerOptions;

use super::{
    Archivists, Research, SERVER,
    checkpoints::Directory,
    config,
    journal::{Journal, Journalled},
    model,
};
use crate::stage::{
    model::has_key,
    process::{WorkerProcess, work_until_orphaned},
};

/// The task queue of the research.
pub const TASK_QUEUE: &str = "research";

/// The parts that all workers of a research share.
#[derive(Clone, Debug)]
pub struct Desk {
    /// The server, as HOST:PORT or as a URL.
    pub address: String,
    pub namespace: String,
    /// The directory of checkpoints and journal.
    pub folder: PathBuf,
    /// Duration of a scripted model call.
    pub pace: Duration,
}

impl Desk {
    /// Returns the store of the checkpoints.
    pub fn checkpoints(&self) -> Directory {
        Directory::new(self.folder.join("checkpoints"))
    }

    /// Returns the journal of the model calls.
    pub fn journal(&self) -> Journal {
        Journal::new(self.folder.join("calls.jsonl"))
    }
}

/// Starts a worker on a thread of this process.
///
/// # Errors
/// The server cannot be reached, or the environment of the real provider is not usable.
pub fn start(desk: &Desk, archive: McpTransport) -> anyhow::Result<WorkerThread> {
    let (resources, journal) = (Resources::new().mcp_server(SERVER, archive), desk.journal());
    let resources = if has_key() {
        resources.model_provider(Journalled { provider: OpenAi::from_env()?, journal })
    } else {
        resources.model_provider(Journalled { provider: model::scripted(desk.pace), journal })
    };
    let runner = InlineRunner::with_config(resources, config());
    let mut options = WorkerOptions::new(TASK_QUEUE).register_workflow::<Research>()?.build();
    options.register_activities(Archivists { runner, checkpoints: desk.checkpoints() });
    options.graceful_shutdown_period = Some(Duration::from_secs(1));
    // The time after which the server gives a workflow task to another worker.
    options.sticky_queue_schedule_to_start_timeout = Duration::from_secs(1);
    // The heartbeat timeout of the crash demonstration is short, and the machine may be busy.
    options.max_heartbeat_throttle_interval = Duration::from_millis(500);
    Ok(WorkerThread::start(desk.address.clone(), &desk.namespace, options)?)
}

/// Starts this program again as a worker and waits until it polls.
///
/// # Errors
/// It does not start.
pub fn spawn(desk: &Desk) -> anyhow::Result<WorkerProcess> {
    let mut program = Command::new(std::env::current_exe()?);
    program.args(["worker", &desk.address, &desk.namespace]).arg::<&Path>(&desk.folder);
    WorkerProcess::start(program.arg(desk.pace.as_millis().to_string()))
}

/// Works until the parent process is gone: the body of the child process.
///
/// # Errors
/// The worker cannot be started.
pub fn serve(desk: &Desk, archive: McpTransport) -> anyhow::Result<()> {
    work_until_orphaned(&start(desk, archive)?)
}
