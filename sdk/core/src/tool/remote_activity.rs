//! An existing activity as a tool: of any worker, in any language, named by its type.

use std::time::Duration;

/// An activity, named by its type, and the options with which it is scheduled.
/// [`ToolDef::remote_activity`](super::ToolDef::remote_activity) offers it to a model,
/// [`WorkflowToolContext::activity`](super::WorkflowToolContext::activity) calls it from a workflow
/// tool.
///
/// ```
/// # extern crate temporal_agents_core as temporal_agents;
/// use std::time::Duration;
/// use temporal_agents::tool::RemoteActivity;
///
/// let refund = RemoteActivity::named("issue_refund")
///     .task_queue("python")
///     .start_to_close(Duration::from_secs(20));
/// assert_eq!(refund.attempts, 3);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemoteActivity {
    /// The type of the activity: the name under which its worker registered it.
    pub activity_type: String,
    /// The task queue of the activity's worker. Default: the workflow's own.
    pub task_queue: Option<String>,
    /// Longest time of one attempt. Default 60 s.
    pub start_to_close: Duration,
    /// Longest time until a worker starts the call. Default 5 min: without a worker the call ends
    /// then, instead of never.
    pub schedule_to_start: Duration,
    /// Longest time of all attempts and the pauses between them. Default: no limit but the
    /// attempts. It also limits how long a run waits for a worker that has the activity, which is
    /// five minutes at most.
    pub schedule_to_close: Option<Duration>,
    /// Longest time without a heartbeat. Default: no heartbeats are expected, because only the
    /// activity's author knows if it sends any.
    pub heartbeat: Option<Duration>,
    /// Attempts in total. Default 3; 1 if the activity is not idempotent.
    pub attempts: u32,
    /// `true` if the activity may run twice without harm. Default `true`; `false` means one
    /// attempt.
    pub idempotent: bool,
    /// The summary line in the Temporal UI. Default: tool, agent and turn.
    pub summary: Option<String>,
}

impl RemoteActivity {
    /// Creates the options of an activity of this type, with the defaults.
    pub fn named(activity_type: impl Into<String>) -> Self {
        Self {
            activity_type: activity_type.into(),
            task_queue: None,
            start_to_close: Duration::from_mins(1),
            schedule_to_start: Duration::from_mins(5),
            schedule_to_close: None,
            heartbeat: None,
            attempts: 3,
            idempotent: true,
            summary: None,
        }
    }

    /// Sets the task queue of the activity's worker.
    #[must_use]
    pub fn task_queue(mut self, task_queue: impl Into<String>) -> Self {
        self.task_queue = Some(task_queue.into());
        self
    }

    /// Sets the longest time of one attempt.
    #[must_use]
    pub fn start_to_close(mut self, longest: Duration) -> Self {
        self.start_to_close = longest;
        self
    }

    /// Sets the longest time until a worker starts the call.
    #[must_use]
    pub fn schedule_to_start(mut self, longest: Duration) -> Self {
        self.schedule_to_start = longest;
        self
    }

    /// Sets the longest time of all attempts.
    #[must_use]
    pub fn schedule_to_close(mut self, longest: Duration) -> Self {
        self.schedule_to_close = Some(longest);
        self
    }

    /// Sets the longest time without a heartbeat; the activity must then send heartbeats.
    #[must_use]
    pub fn heartbeat(mut self, longest: Duration) -> Self {
        self.heartbeat = Some(longest);
        self
    }

    /// Sets the number of attempts in total.
    #[must_use]
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.attempts = attempts;
        self
    }

    /// Sets the `idempotent` flag: `true` if the activity may run twice without harm.
    #[must_use]
    pub fn idempotent(mut self, idempotent: bool) -> Self {
        self.idempotent = idempotent;
        self
    }

    /// Sets the summary line in the Temporal UI.
    #[must_use]
    pub fn summary(mut self, summary: impl Into<String>) -> Self {
        self.summary = Some(summary.into());
        self
    }

    /// Returns the attempts in total: 1 if the activity is not idempotent.
    #[doc(hidden)]
    pub fn attempts_in_all(&self) -> u32 {
        if self.idempotent { self.attempts.max(1) } else { 1 }
    }
}
