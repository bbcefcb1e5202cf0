//! A worker in a separate process, which can be frozen and killed.

use std::{
    io::{BufRead, BufReader, Read},
    process::{Child, ChildStdin, Command, Stdio},
};

use anyhow::Context;
use temporal_agents_testing::environment::WorkerThread;

const READY: &str = "READY";

/// A worker in a separate process.
#[derive(Debug)]
pub struct WorkerProcess {
    child: Child,
    // Held open: the child ends when its standard input closes, so it never outlives this process.
    alive: Option<ChildStdin>,
}

impl WorkerProcess {
    /// Starts a program that calls [`work_until_orphaned`], and waits until its worker polls.
    ///
    /// # Errors
    /// The program does not start.
    pub fn start(program: &mut Command) -> anyhow::Result<Self> {
        let mut child = program
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("the worker process could not be started")?;
        let alive = child.stdin.take();
        let stdout = child.stdout.take().context("the worker process has no standard output")?;
        let mut process = Self { child, alive };
        for line in BufReader::new(stdout).lines() {
            if line?.ends_with(READY) {
                return Ok(process);
            }
        }
        process.end()?;
        anyhow::bail!("the worker process ended before it was ready")
    }

    /// Returns the process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Stops the process (SIGSTOP), so that its state can be examined.
    ///
    /// # Errors
    /// The signal cannot be sent.
    pub fn freeze(&self) -> anyhow::Result<()> {
        self.signal("STOP")
    }

    /// Continues a frozen process (SIGCONT).
    ///
    /// # Errors
    /// The signal cannot be sent.
    pub fn thaw(&self) -> anyhow::Result<()> {
        self.signal("CONT")
    }

    /// Kills the process (SIGKILL): no clean-up, and no shutdown message to the server.
    ///
    /// # Errors
    /// The signal cannot be sent.
    pub fn kill(mut self) -> anyhow::Result<()> {
        self.end()
    }

    /// Lets the process end by itself: closes its standard input, and waits for it, for 20 s at
    /// most.
    ///
    /// # Errors
    /// The process cannot be waited for.
    pub fn finish(mut self) -> anyhow::Result<()> {
        self.alive = None;
        for _ in 0..200 {
            if self.child.try_wait()?.is_some() {
                return Ok(());
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
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
        // An error means that the process is dead already, which is the goal.
        let _ = self.end();
    }
}

/// Runs the child process: prints that its worker polls, and keeps it running until the parent has
/// ended.
///
/// # Errors
/// The standard input cannot be read.
pub fn work_until_orphaned(_worker: &WorkerThread) -> anyhow::Result<()> {
    println!("{READY}");
    let mut rest = Vec::new();
    std::io::stdin().read_to_end(&mut rest)?;
    Ok(())
}
