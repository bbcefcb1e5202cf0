//! A worker in a separate process: this program's `worker`.

use std::{ops::Deref, time::Duration};

use tokio::time::sleep;

use super::process::Process;

/// Time allowed for the worker's first polls, which are not measured.
const SETTLE_TIME: Duration = Duration::from_secs(1);

/// A running worker, which is stopped when the value is dropped.
pub(super) struct WorkerProcess(Process);

impl WorkerProcess {
    /// Starts a worker, and waits until its first polls are complete.
    pub(super) async fn start(address: &str, task_queue: &str) -> anyhow::Result<Self> {
        Self::start_with(address, task_queue, &[]).await
    }

    /// Starts a worker like [`start`](Self::start), with additional arguments.
    pub(super) async fn start_with(address: &str, task_queue: &str, arguments: &[&str]) -> anyhow::Result<Self> {
        let worker = ["worker", "--address", address, "--task-queue", task_queue];
        let (process, _) = Process::start(&[&worker[..], arguments].concat())?;
        sleep(SETTLE_TIME).await;
        process.forget_peak()?;
        Ok(Self(process))
    }
}

impl Deref for WorkerProcess {
    type Target = Process;

    fn deref(&self) -> &Process {
        &self.0
    }
}
