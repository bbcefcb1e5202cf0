//! A worker in a separate process: this program's `worker`.

use std::{
    env,
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    time::Duration,
};

use anyhow::Context;
use rustix::process::{Pid, Signal, kill_process};
use tokio::time::sleep;

use crate::{
    clock::{cpu_ms_of, forget_peak, peak_kib},
    serve::READY,
};

/// Time allowed for the worker's first polls, which are not measured.
const SETTLE_TIME: Duration = Duration::from_secs(1);

/// A running worker, which is stopped when the value is dropped.
pub(super) struct WorkerProcess {
    child: Child,
}

impl WorkerProcess {
    /// Starts a worker, and waits until its first polls are complete.
    pub(super) async fn start(address: &str, task_queue: &str) -> anyhow::Result<Self> {
        Self::start_with(address, task_queue, &[]).await
    }

    /// Starts a worker like [`start`](Self::start), with additional arguments.
    pub(super) async fn start_with(address: &str, task_queue: &str, arguments: &[&str]) -> anyhow::Result<Self> {
        let mut child = Command::new(env::current_exe()?)
            .args(["worker", "--address", address, "--task-queue", task_queue])
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .context("the worker process cannot be started")?;
        let output = child.stdout.take().context("the worker process has no output")?;
        let worker = Self { child };
        let mut first = String::new();
        BufReader::new(output).read_line(&mut first)?;
        anyhow::ensure!(first.trim() == READY, "the worker process ended before it was ready");
        sleep(SETTLE_TIME).await;
        forget_peak(worker.child.id())?;
        Ok(worker)
    }

    /// Returns the CPU time that the worker has used, in milliseconds.
    pub(super) fn cpu_ms(&self) -> anyhow::Result<f64> {
        cpu_ms_of(self.child.id())
    }

    /// Returns the peak resident memory of the worker since its start-up was complete, in MiB.
    pub(super) fn peak_mib(&self) -> anyhow::Result<f64> {
        let kib = u32::try_from(peak_kib(&self.child.id().to_string())?)?;
        Ok(f64::from(kib) / 1024.0)
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        // The call fails only if the worker has already ended, which is the intended result.
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        let _ = self.child.wait();
    }
}
