//! Options of a tool's activity: timeouts, attempts, task queue.

use std::time::Duration;

/// Options of an activity tool. `#[tool(start_to_close = "20s", attempts = 5)]` sets the same
/// options.
#[derive(Clone, Debug, PartialEq, Eq, bon::Builder)]
#[builder(on(String, into))]
pub struct ToolActivityOptions {
    /// Longest time of one attempt. Default 60 s.
    #[builder(default = Duration::from_mins(1))]
    pub start_to_close: Duration,
    /// Longest time of all attempts and the pauses between them. Default: no limit but the
    /// attempts.
    ///
    /// This also limits how long a run waits for a worker that has the tool, which is five minutes
    /// at most: a call that a worker without the tool receives is scheduled again, regardless of
    /// its attempts.
    pub schedule_to_close: Option<Duration>,
    /// Longest time without a heartbeat; the worker sends heartbeats by itself. Default 30 s.
    #[builder(default = Duration::from_secs(30))]
    pub heartbeat: Duration,
    /// Attempts in total. Default 3; 1 if the tool is not idempotent.
    #[builder(default = 3)]
    pub attempts: u32,
    /// The task queue whose worker runs the tool. Default: the workflow's own.
    pub task_queue: Option<String>,
    /// The summary line in the Temporal UI. Default: agent, tool and turn.
    pub summary: Option<String>,
    /// Runs the body as a local activity: on the worker that runs the workflow, faster, without a
    /// task of its own, and without heartbeats. For tools that take a second or two and return
    /// little: 100 kB, unless `max_output_bytes` sets another limit. `heartbeat` has no effect
    /// then, and `task_queue` must not be set. Default `false`.
    ///
    /// The result is recorded with the workflow task: when that task is lost (for example because
    /// the worker ends), the body runs again, regardless of its attempts. The body must therefore
    /// be idempotent.
    #[builder(default)]
    pub local: bool,
    /// `true` if the body may run twice without harm. Default `true`; `false` means one attempt.
    #[builder(default = true)]
    pub idempotent: bool,
}

impl Default for ToolActivityOptions {
    fn default() -> Self {
        Self::builder().build()
    }
}

impl ToolActivityOptions {
    /// Returns `true` if workers on this task queue run the tool.
    #[doc(hidden)]
    pub fn is_on(&self, task_queue: &str) -> bool {
        self.task_queue.as_deref().is_none_or(|queue| queue == task_queue)
    }

    /// Returns the attempts in total: 1 if the tool is not idempotent.
    pub fn attempts(&self) -> u32 {
        if self.idempotent { self.attempts.max(1) } else { 1 }
    }
}
