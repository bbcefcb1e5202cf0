//! The rules by which a run counts as stuck.
//!
//! They are pure: first they say what is worth a further request, then what the problem is.

use temporal_agents_core::wire::{
    MODEL_ACTIVITY, RunProblem, RunProblemKind, ready_made::AGENT_WORKFLOW, session_call::SESSION_ACTIVITY,
    tool_call::TOOL_PREFIX,
};

use super::facts::{Activity, FailedTask, Millis, RunFacts};

/// Number of the attempt from which a failing workflow task counts as stuck.
const TASK_ATTEMPTS: i32 = 3;
/// Time after which the second attempt of a workflow task counts as failed too: the SDK reports
/// only the first failure, and lets further attempts time out.
const SECOND_TASK_ATTEMPT: Millis = 2_000;
/// Time in which a worker must take a task, if it has nothing else to do.
const NOT_TAKEN: Millis = 4_000;
/// Time after which a task counts as stuck although workers poll its queue: all may be busy.
const NOT_TAKEN_BY_BUSY: Millis = 30_000;
/// Number of the attempt from which a failing activity counts as stuck.
const ACTIVITY_ATTEMPTS: i32 = 3;
/// Pause before the next attempt from which one failed attempt counts as stuck.
const LONG_PAUSE: Millis = 10_000;
/// Time without an event after which a run that the server waits for in no way counts as stuck.
const QUIET: Millis = 3_000;
/// Length of a history that is read to its beginning for a timer.
pub(super) const MAX_EVENTS: i64 = 1_000;
/// Number of characters of a failure's message that are shown.
const MAX_MESSAGE: usize = 500;

/// What is wrong with a task, as far as the description of the run tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Suspicion {
    /// Attempts fail.
    Fails,
    /// No worker takes it.
    NotTaken,
}

impl RunFacts {
    /// Returns what seems wrong with the workflow task.
    pub(super) fn task_suspicion(&self) -> Option<Suspicion> {
        let task = self.workflow_task?;
        let age = self.now - task.scheduled;
        if task.attempt >= TASK_ATTEMPTS || (task.attempt == 2 && age >= SECOND_TASK_ATTEMPT) {
            return Some(Suspicion::Fails);
        }
        (!task.is_started && age >= NOT_TAKEN).then_some(Suspicion::NotTaken)
    }

    /// Returns the first activity with which something seems wrong.
    pub(super) fn activity_suspicion(&self) -> Option<(usize, Suspicion)> {
        let failing = self.activities.iter().position(|activity| activity.fails(self.now));
        if let Some(place) = failing {
            return Some((place, Suspicion::Fails));
        }
        let waiting = self.activities.iter().position(|activity| activity.is_not_taken(self.now));
        Some((waiting?, Suspicion::NotTaken))
    }

    /// Returns `true` if the server waits for nothing that could continue the run: a timer is the
    /// only thing that its description does not show.
    pub(super) fn seems_abandoned(&self) -> bool {
        // Chats wait for messages, and workflows of authors for signals and updates.
        self.workflow_type == AGENT_WORKFLOW
            && self.workflow_task.is_none()
            && self.activities.is_empty()
            && !self.has_children
            && !self.is_delayed
            && !self.is_waiting
            && self.history_length <= MAX_EVENTS
    }

    /// Returns the problem of the run; `None` if it makes progress, or waits as it should.
    pub(super) fn problem(&self) -> Option<RunProblem> {
        match self.task_suspicion() {
            // A worker that was lost leaves a task that times out, too.
            Some(Suspicion::Fails) if self.workflow_pollers == Some(false) => self.task_not_taken(),
            Some(Suspicion::Fails) => self.failing_task(),
            Some(Suspicion::NotTaken) => self.task_not_taken(),
            None => match self.activity_suspicion() {
                Some((place, Suspicion::Fails)) => Some(failing_activity(&self.activities[place])),
                Some((place, Suspicion::NotTaken)) => self.activity_not_taken(&self.activities[place]),
                None => self.foreign_future(),
            },
        }
    }

    fn failing_task(&self) -> Option<RunProblem> {
        let task = self.workflow_task?;
        let problem = match self.failed_task.as_ref()? {
            FailedTask::Nondeterminism(message) => nondeterminism(message),
            FailedTask::Failed(message) => RunProblem::new(
                RunProblemKind::WorkflowTaskFails,
                format!("the workflow task fails again and again (attempt {}): {}", task.attempt, short(message)),
                "Temporal retries it until it succeeds: deploy a build that corrects the failure, and the run \
                 continues from its history",
            ),
            FailedTask::TimedOut => RunProblem::new(
                RunProblemKind::WorkflowTaskHangs,
                format!(
                    "the workflow task times out again and again (attempt {}): workflow code blocks, or the worker \
                     ends while it runs",
                    task.attempt
                ),
                "See the worker's log; move what blocks into an activity, and deploy: the run continues from its \
                 history",
            ),
        };
        Some(since(problem, task.scheduled))
    }

    fn task_not_taken(&self) -> Option<RunProblem> {
        let task = self.workflow_task?;
        let problem = if !self.workflow_pollers? {
            queue_not_polled(&self.task_queue)
        } else if self.now - task.scheduled >= NOT_TAKEN_BY_BUSY {
            workers_busy(&self.task_queue)
        } else {
            return None;
        };
        Some(since(problem, task.scheduled))
    }

    fn activity_not_taken(&self, activity: &Activity) -> Option<RunProblem> {
        let has_waited_long = self.now - activity.scheduled >= NOT_TAKEN_BY_BUSY;
        let problem = match (self.activity_pollers?, self.workflow_pollers?) {
            (true, _) if has_waited_long => workers_busy(&activity.task_queue),
            (true, _) => return None,
            (false, true) => RunProblem::new(
                RunProblemKind::ActivityNotPolled,
                format!(
                    "{} waits: a worker polls the task queue {:?} for workflows, and none for activities",
                    activity.name(),
                    activity.task_queue
                ),
                "Install the plugin in the options of the worker: plugin.install(&mut options)?",
            ),
            (false, false) => queue_not_polled(&activity.task_queue),
        };
        Some(since(problem, activity.scheduled))
    }

    fn foreign_future(&self) -> Option<RunProblem> {
        let tail = self.tail.filter(|_| self.seems_abandoned())?;
        let is_quiet = self.now - tail.last_event >= QUIET;
        (is_quiet && !tail.may_have_timer).then(|| since(foreign_future(), tail.last_event))
    }
}

impl Activity {
    fn fails(&self, now: Millis) -> bool {
        let pause = if self.is_started { 0 } else { self.scheduled - now };
        self.failure.is_some()
            && !self.is_paused
            && (self.attempt >= ACTIVITY_ATTEMPTS || self.has_timed_out || pause >= LONG_PAUSE)
    }

    fn is_not_taken(&self, now: Millis) -> bool {
        !self.is_started && !self.is_paused && self.scheduled > 0 && now - self.scheduled >= NOT_TAKEN
    }

    /// Returns what the activity does, in the author's words.
    fn name(&self) -> String {
        let agent = self.caller.as_ref().and_then(|caller| caller.agent.as_ref());
        let what = if self.kind == MODEL_ACTIVITY {
            "the model call".to_owned()
        } else if let Some(tool) = self.kind.strip_prefix(TOOL_PREFIX) {
            format!("tool `{tool}`")
        } else if let Some(guardrail) = self.kind.strip_prefix("agents.guardrail.") {
            format!("guardrail `{guardrail}`")
        } else if let Some(store) = self.kind.strip_prefix(SESSION_ACTIVITY).and_then(|rest| rest.strip_prefix('.')) {
            format!("a call of the session store `{store}`")
        } else {
            format!("activity `{}`", self.kind)
        };
        agent.map_or_else(|| what.clone(), |agent| format!("{what} of agent `{agent}`"))
    }
}

fn failing_activity(activity: &Activity) -> RunProblem {
    let is_model = activity.kind == MODEL_ACTIVITY;
    let kind = if is_model { RunProblemKind::ModelFails } else { RunProblemKind::ActivityFails };
    let failed = activity.attempt - 1;
    let times = if failed == 1 { "once".to_owned() } else { format!("{failed} times") };
    let next = if activity.is_started {
        format!("attempt {} runs", activity.attempt)
    } else {
        format!("attempt {} begins at {}", activity.attempt, time_of_day(activity.scheduled))
    };
    let failure = short(activity.failure.as_deref().unwrap_or_default());
    let message = format!("{} has failed {times}, {next}: {failure}", activity.name());
    let remedy = match (is_model, activity.has_timed_out) {
        (true, true) => "Temporal retries it; if the model needs longer, raise start_to_close in ModelActivityOptions",
        (true, false) => "Temporal retries it; check the provider's status, and the quota of the key",
        (false, true) => "Temporal retries it; if the call needs longer, raise its start_to_close",
        (false, false) => "Temporal retries it by its retry policy; the worker's log has each failed attempt",
    };
    let mut problem = RunProblem::new(kind, message, remedy);
    if let Some(caller) = &activity.caller {
        problem.agent.clone_from(&caller.agent);
        problem = since(problem, caller.first_scheduled);
    }
    problem
}

/// Returns the problem of a run whose task no worker takes, although some have polled its queue.
fn workers_busy(task_queue: &str) -> RunProblem {
    let message = format!("no worker of the task queue {task_queue:?} takes the next task of the run");
    let remedy = "A worker has polled this queue in the last minutes: check that it still runs, and is not busy or of \
                  another deployment version";
    RunProblem::new(RunProblemKind::NoWorker, message, remedy)
}

/// Returns the problem of a run whose task queue no worker polls.
pub(super) fn queue_not_polled(task_queue: &str) -> RunProblem {
    let message = format!("no worker polls the task queue {task_queue:?}");
    RunProblem::new(RunProblemKind::NoWorker, message, "Start a worker with this task queue and namespace")
}

/// Returns the problem of a workflow whose task the SDK has failed with this message, of code
/// `TMPRL1100`.
pub(in crate::client) fn nondeterminism(message: &str) -> RunProblem {
    if message.contains("Nondeterministic future") { foreign_future() } else { replay_differs(message) }
}

/// Returns the problem of a run that the build of its workers does not reproduce, and why.
pub(crate) fn replay_differs(why: &str) -> RunProblem {
    RunProblem::new(
        RunProblemKind::ReplayDiffers,
        format!("the build of the workers does not reproduce the history of the run: {}", short(why)),
        "Nothing is lost: roll back, or deploy a build that keeps what open runs have recorded (the guide's chapter \
         on deploying: ctx.patched, AgentSet::version); the run then continues",
    )
}

fn foreign_future() -> RunProblem {
    RunProblem::new(
        RunProblemKind::AwaitsForeignFuture,
        "the workflow awaits something that is not its context's, such as tokio::time::sleep or a spawned task",
        "Use ctx.timer(..), ctx.wait_condition(..) or an activity in its place, and deploy",
    )
}

fn since(mut problem: RunProblem, since: Millis) -> RunProblem {
    problem.since = u64::try_from(since).ok().filter(|since| *since > 0);
    problem
}

/// Returns a message in one line, and no more than people read.
fn short(message: &str) -> String {
    let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_MESSAGE) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// Returns the time of day: `12:00:00 UTC`.
fn time_of_day(time: Millis) -> String {
    let seconds = time.div_euclid(1000).rem_euclid(24 * 60 * 60);
    format!("{:02}:{:02}:{:02} UTC", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests;
