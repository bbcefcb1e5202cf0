//! The worker of the desk in a process of its own: this test binary, started again with one test.

use std::{path::PathBuf, process::Command, time::Duration};

use serde::{Deserialize, Serialize};
use temporal_agents_examples::stage::process::{WorkerProcess, work_until_orphaned};
use temporal_agents_testing::{DevServer, environment::WorkerThread, skip_entry_point};
use temporalio_sdk::WorkerOptions;

use super::{
    ledger::Ledger,
    review::{self, Work},
};

/// Where the desk is.
pub(super) const TASK_QUEUE: &str = "desk";
const TASK: &str = "TEMPORAL_AGENTS_TEST_DESK";

/// What a worker process is told.
#[derive(Debug, Serialize, Deserialize)]
struct Task {
    target: String,
    namespace: String,
    ledger: PathBuf,
    work: Work,
}

/// Starts a worker process.
pub(super) async fn start(server: &DevServer, ledger: &Ledger, work: Work) -> anyhow::Result<WorkerProcess> {
    let test = "agentic_session::crash::worker::a_worker_works_only_where_a_test_has_started_it";
    let task = Task {
        target: server.target_url(),
        namespace: server.namespace().to_owned(),
        ledger: ledger.path.clone(),
        work,
    };
    let task = serde_json::to_string(&task)?;
    let mut program = Command::new(std::env::current_exe()?);
    program.args([test, "--exact", "--nocapture"]).env(TASK, task);
    tokio::task::spawn_blocking(move || WorkerProcess::start(&mut program)).await?
}

#[test]
fn a_worker_works_only_where_a_test_has_started_it() -> anyhow::Result<()> {
    let Ok(task) = std::env::var(TASK) else {
        skip_entry_point();
        return Ok(());
    };
    work(serde_json::from_str(&task)?)
}

fn work(Task { target, namespace, ledger, work }: Task) -> anyhow::Result<()> {
    let mut options = WorkerOptions::new(TASK_QUEUE).build();
    options.register_activities(review::desk(&Ledger { path: ledger }, work));
    options.graceful_shutdown_period = Some(Duration::from_secs(1));
    if matches!(work, Work::Review { .. }) {
        // Its heartbeat timeout is short, and the machine may be busy.
        options.max_heartbeat_throttle_interval = Duration::from_millis(500);
    }
    work_until_orphaned(&WorkerThread::start(target, &namespace, options)?)
}
