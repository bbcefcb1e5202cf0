//! A worker in a process of its own: this program's `worker`.

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

/// How long the worker's first polls take at most; they are not measured.
const SETTLES: Duration = Duration::from_secs(1);

/// A running worker; dropping it ends it.
pub(super) struct WorkerProcess {
    child: Child,
}

impl WorkerProcess {
    /// A fresh worker that has come to rest.
    pub(super) async fn start(address: &str, task_queue: &str) -> anyhow::Result<Self> {
        Self::start_with(address, task_queue, &[]).await
    }

    /// The same with more arguments.
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
        sleep(SETTLES).await;
        forget_peak(worker.child.id())?;
        Ok(worker)
    }

    /// The CPU time it has used, in milliseconds.
    pub(super) fn cpu_ms(&self) -> anyhow::Result<f64> {
        cpu_ms_of(self.child.id())
    }

    /// The most memory it has had, in MiB.
    pub(super) fn peak_mib(&self) -> anyhow::Result<f64> {
        let kib = u32::try_from(peak_kib(&self.child.id().to_string())?)?;
        Ok(f64::from(kib) / 1024.0)
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        // What fails here fails because the worker has ended, which is what is wanted.
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        let _ = self.child.wait();
    }
}
