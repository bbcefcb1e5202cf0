//! An activity that exists already, as a tool: of any worker, in any language, known by its type.

use std::time::Duration;

/// An activity by its type, and how it is scheduled. [`ToolDef::remote_activity`](super::ToolDef::remote_activity) offers it to a
/// model, [`WorkflowToolContext::activity`](super::WorkflowToolContext::activity) calls it from a workflow tool.
///
/// ```
/// use std::time::Duration;
/// use temporal_agents::tool::RemoteActivity;
///
/// let refund = RemoteActivity::named("issue_refund").task_queue("python").start_to_close(Duration::from_secs(20));
/// assert_eq!(refund.attempts, 3);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemoteActivity {
    /// The activity's type: the name under which its worker has registered it.
    pub activity_type: String,
    /// The task queue of its worker. Default: the workflow's own.
    pub task_queue: Option<String>,
    /// Longest time of one attempt. Default 60 s.
    pub start_to_close: Duration,
    /// Longest time until a worker takes the call. Default 5 min: without a worker the call ends then, instead of never.
    pub schedule_to_start: Duration,
    /// Longest time of all attempts and the pauses between them. Default: no limit but the attempts. It also bounds how long a run waits for a
    /// worker that has the activity, which is five minutes at most.
    pub schedule_to_close: Option<Duration>,
    /// Longest time without a heartbeat. Default: none are expected, because nobody but the activity's author knows whether it sends any.
    pub heartbeat: Option<Duration>,
    /// Attempts in all. Default 3; 1 when it is not idempotent.
    pub attempts: u32,
    /// Whether running it twice is harmless. Default true; false means one attempt.
    pub idempotent: bool,
    /// The line the Temporal UI shows. Default: tool, agent and turn.
    pub summary: Option<String>,
}

impl RemoteActivity {
    /// The activity of this type, with the defaults.
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

    /// Sets the task queue of its worker.
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

    /// Sets the longest time until a worker takes the call.
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

    /// Sets the longest time without a heartbeat, which the activity must send then.
    #[must_use]
    pub fn heartbeat(mut self, longest: Duration) -> Self {
        self.heartbeat = Some(longest);
        self
    }

    /// Sets how many attempts there are in all.
    #[must_use]
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.attempts = attempts;
        self
    }

    /// Says whether running it twice is harmless.
    #[must_use]
    pub fn idempotent(mut self, idempotent: bool) -> Self {
        self.idempotent = idempotent;
        self
    }

    /// Sets the line the Temporal UI shows.
    #[must_use]
    pub fn summary(mut self, summary: impl Into<String>) -> Self {
        self.summary = Some(summary.into());
        self
    }

    /// Attempts in all, with what `idempotent` says taken into account.
    pub(crate) fn attempts_in_all(&self) -> u32 {
        if self.idempotent { self.attempts.max(1) } else { 1 }
    }
}
