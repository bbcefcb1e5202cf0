//! How a tool's activity is run: timeouts, attempts, task queue.

use std::time::Duration;

/// Options of an activity tool. `#[tool(start_to_close = "20s", attempts = 5)]` sets the same.
#[derive(Clone, Debug, PartialEq, Eq, bon::Builder)]
#[builder(on(String, into))]
#[non_exhaustive]
pub struct ToolActivityOptions {
    /// Longest time of one attempt. Default 60 s.
    #[builder(default = Duration::from_mins(1))]
    pub start_to_close: Duration,
    /// Longest time of all attempts and the pauses between them. Default: no limit but the attempts.
    ///
    /// It also bounds how long a run waits for a worker that has the tool, which is five minutes at most: a call that comes to a worker without it
    /// is scheduled again, whatever its attempts.
    pub schedule_to_close: Option<Duration>,
    /// Longest time without a heartbeat; the worker sends them by itself. Default 30 s.
    #[builder(default = Duration::from_secs(30))]
    pub heartbeat: Duration,
    /// Attempts in all. Default 3; 1 when the tool is not idempotent.
    #[builder(default = 3)]
    pub attempts: u32,
    /// The task queue whose worker runs the tool. Default: the workflow's own.
    pub task_queue: Option<String>,
    /// The line the Temporal UI shows. Default: agent, tool and turn.
    pub summary: Option<String>,
    /// Runs the body as a local activity: on the worker that runs the workflow, faster, without a task of its own, and without heartbeats.
    /// For what takes a second or two and returns little: 100 kB, unless `max_output_bytes` says more. `heartbeat` has no effect then, and there is
    /// no `task_queue`. Default false.
    ///
    /// What it did is recorded with the workflow task: when that is lost (the worker ends, say), the body runs again, however few its
    /// attempts. So it has to be idempotent.
    #[builder(default)]
    pub local: bool,
    /// Whether running the body twice is harmless. Default true; false means one attempt.
    #[builder(default = true)]
    pub idempotent: bool,
}

impl Default for ToolActivityOptions {
    fn default() -> Self {
        Self::builder().build()
    }
}

impl ToolActivityOptions {
    /// Attempts in all, with what `idempotent` says taken into account.
    pub fn attempts(&self) -> u32 {
        if self.idempotent { self.attempts.max(1) } else { 1 }
    }
}
