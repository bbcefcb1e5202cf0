//! The worker of the quickstart, in this process or as a child process that can be killed.

use std::{
    io::{BufRead, BufReader, Read},
    process::{Child, ChildStdin, Command, Stdio},
    time::Duration,
};

use anyhow::Context;
use temporal_agents::AgentsPlugin;
use temporal_agents_testing::environment::WorkerThread;
use temporalio_sdk::WorkerOptions;
use temporalio_workflow::workflow_interceptors::{
    CancellableWorkflowOutboundFuture, ScheduleActivityInput, ScheduleActivityResult, WorkflowInterceptor,
    WorkflowInterceptorConstructor, WorkflowInterceptorContext, WorkflowNext,
};

use super::{
    model,
    trip::{Almanac, Trip, travel_desk},
};

/// The task queue of the quickstart.
pub const TASK_QUEUE: &str = "quickstart";
const READY: &str = "READY";

/// How the worker behaves.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// How long a scripted model call takes.
    pub model: Duration,
    /// How long an activity tool takes.
    pub tool: Duration,
    /// How long the worker hesitates in a workflow task before it schedules an activity: the moment between two calls,
    /// made long enough to hit.
    pub hesitation: Duration,
}

/// Stands between the workflow and its commands, and takes its time. It changes none of them.
struct Hesitant(Duration);

impl WorkflowInterceptor for Hesitant {
    fn schedule_activity(
        &self,
        ctx: WorkflowInterceptorContext,
        input: ScheduleActivityInput,
        next: WorkflowNext<'static, ScheduleActivityInput, CancellableWorkflowOutboundFuture<ScheduleActivityResult>>,
    ) -> CancellableWorkflowOutboundFuture<ScheduleActivityResult> {
        if !ctx.is_replaying_history_events() {
            std::thread::sleep(self.0);
        }
        next.run(input)
    }
}

/// Starts a worker on a thread of this process.
///
/// # Errors
/// When the server cannot be reached or the agents are wrong.
pub fn start(target_url: &str, namespace: &str, pace: Pace) -> anyhow::Result<WorkerThread> {
    let plugin = AgentsPlugin::new().state(Almanac { delay: pace.tool }).agents((travel_desk,));
    let plugin = model::add_to(plugin, pace.model)?;
    let mut options = WorkerOptions::new(TASK_QUEUE).register_workflow::<Trip>()?.build();
    options.graceful_shutdown_period = Some(Duration::from_secs(1));
    // How long the server waits for the worker that knows the workflow before it asks another one.
    options.sticky_queue_schedule_to_start_timeout = Duration::from_secs(1);
    if !pace.hesitation.is_zero() {
        options.workflow_interceptor(WorkflowInterceptorConstructor::new(move |_| Hesitant(pace.hesitation)));
    }
    plugin.install(&mut options)?;
    Ok(WorkerThread::start(target_url.to_owned(), namespace, options)?)
}

/// A worker in a process of its own.
#[derive(Debug)]
pub struct WorkerProcess {
    child: Child,
    // Held open: the child ends when its standard input does, so that it never outlives this process.
    _alive: Option<ChildStdin>,
}

impl WorkerProcess {
    /// Starts this program again as a worker and waits until it polls.
    ///
    /// # Errors
    /// When it does not start.
    pub fn spawn(target_url: &str, namespace: &str, pace: Pace) -> anyhow::Result<Self> {
        let millis = |pause: Duration| pause.as_millis().to_string();
        let mut child = Command::new(std::env::current_exe()?)
            .args(["worker", target_url, namespace, &millis(pace.model), &millis(pace.tool), &millis(pace.hesitation)])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("the worker process could not be started")?;
        let alive = child.stdin.take();
        let mut line = String::new();
        let stdout = child.stdout.take().context("the worker process has no standard output")?;
        BufReader::new(stdout).read_line(&mut line)?;
        anyhow::ensure!(line.trim() == READY, "the worker process said {line:?} instead of {READY}");
        Ok(Self { child, _alive: alive })
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

/// What the child process does: works until its parent is gone.
///
/// # Errors
/// When the worker cannot be started.
pub fn serve(target_url: &str, namespace: &str, pace: Pace) -> anyhow::Result<()> {
    let worker = start(target_url, namespace, pace)?;
    println!("{READY}");
    let mut rest = Vec::new();
    std::io::stdin().read_to_end(&mut rest)?;
    drop(worker);
    Ok(())
}
