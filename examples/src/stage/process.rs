//! A worker in a process of its own, which can be frozen and killed.

use std::{
    io::{BufRead, BufReader, Read},
    process::{Child, ChildStdin, Command, Stdio},
};

use anyhow::Context;
use temporal_agents_testing::environment::WorkerThread;

const READY: &str = "READY";

/// A worker in a process of its own.
#[derive(Debug)]
pub struct WorkerProcess {
    child: Child,
    // Held open: the child ends when its standard input does, so that it never outlives this process.
    _alive: Option<ChildStdin>,
}

impl WorkerProcess {
    /// Starts a program that calls [`work_until_orphaned`], and waits until its worker polls.
    ///
    /// # Errors
    /// When it does not start.
    pub fn start(program: &mut Command) -> anyhow::Result<Self> {
        let mut child = program
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("the worker process could not be started")?;
        let alive = child.stdin.take();
        let stdout = child.stdout.take().context("the worker process has no standard output")?;
        let mut process = Self { child, _alive: alive };
        for line in BufReader::new(stdout).lines() {
            if line?.ends_with(READY) {
                return Ok(process);
            }
        }
        process.end()?;
        anyhow::bail!("the worker process ended before it was ready")
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Stops the process where it stands (SIGSTOP), so that what it was doing can be looked at.
    ///
    /// # Errors
    /// When the signal cannot be sent.
    pub fn freeze(&self) -> anyhow::Result<()> {
        self.signal("STOP")
    }

    /// Lets a frozen process go on (SIGCONT).
    ///
    /// # Errors
    /// When the signal cannot be sent.
    pub fn thaw(&self) -> anyhow::Result<()> {
        self.signal("CONT")
    }

    /// Kills the process (SIGKILL): no clean-up, no goodbye to the server.
    ///
    /// # Errors
    /// When the signal cannot be sent.
    pub fn kill(mut self) -> anyhow::Result<()> {
        self.end()
    }

    fn signal(&self, name: &str) -> anyhow::Result<()> {
        let status = Command::new("sh").args(["-c", &format!("kill -{name} {}", self.pid())]).status()?;
        anyhow::ensure!(status.success(), "signal {name} could not be sent to process {}", self.pid());
        Ok(())
    }

    fn end(&mut self) -> anyhow::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        // Already dead is what we want.
        let _ = self.end();
    }
}

/// What the child process does: says that its worker polls, and lets it work until the parent is gone.
///
/// # Errors
/// When its standard input cannot be read.
pub fn work_until_orphaned(worker: WorkerThread) -> anyhow::Result<()> {
    println!("{READY}");
    let mut rest = Vec::new();
    std::io::stdin().read_to_end(&mut rest)?;
    drop(worker);
    Ok(())
}
