//! Activities that a worker refuses because it is of an older release: the workflow schedules them
//! again, until a deploy brings a worker that accepts them.
//!
//! While a release is rolled out, workers of two releases poll one task queue. A worker that does
//! not have an activity, or cannot read its request because the request is too new, has done
//! nothing, so that the activity can be scheduled once more regardless of its number of attempts,
//! even if it must not run twice. A retry policy cannot express that: it counts such an attempt
//! like any other.
//!
//! The rule depends on the activity, and applies where it is scheduled:
//!
//! | activity | waits |
//! |---|---|
//! | tools and guardrails in activities | yes |
//! | those in local activities | yes, until the workflow moves to a worker that has them |
//! | model calls, the items recorded for them | yes |
//! | MCP servers: lists, calls, prompts, the opening of sessions | yes |
//! | MCP servers: requests in a session, and its end | no: its one worker stays as it is |
//! | stored sessions, states that are kept or loaded, agents as data | yes |
//! | lookups of Nexus endpoints | yes, within the time limit; then the call itself decides |
//! | remote activities | yes, if the failure says that the activity is not registered |
//! | child workflows, Nexus operations | not needed: the server repeats the failed task |
//!
//! The type `NotFoundError` alone is not enough for a remote activity: the author's own failure may
//! have it too.
//!
//! # Determinism
//! The delays and the limits decide which timers and activities are scheduled: a change here is a
//! change of a rule (see CONTRIBUTING.md). The patch is evaluated where an activity was refused and
//! a timer follows, so that other histories have no marker.
//!
//! # Design
//! **`NotFoundError` is retried by the workflow, not by the server.** A worker returns it for an
//! activity that it does not have. The server would retry it forever, and counts it as an attempt,
//! of which a tool that is not idempotent has one. Nothing has run, so neither attempts nor
//! idempotence matter, and no retry policy can express that. The activity is scheduled again as
//! `<id>-retry-<n>`; references to results name the id of the activity that returned the result.
//!
//! The five minutes count from the first refusal, in workflow time, not from the scheduling:
//! otherwise an activity that has waited in the queue for longer would have no second try. The
//! activity's own `schedule_to_close` also limits them. There is no waiting in a session with an
//! MCP server, whose private queue never gets another release. An activity that is scheduled again
//! is not executed eagerly: the server would pass it to the worker that has refused it.
//!
//! A local activity runs on the worker that has the workflow: it waits until the workflow has
//! moved, which happens when that worker stops. A request that is too new is scheduled again for
//! ten minutes after the first refusal, once the attempts of its activity are used up.

use std::{
    rc::Rc,
    time::{Duration, SystemTime},
};

use futures::future::LocalBoxFuture;
use temporal_agents_core::wire::failure::WIRE_VERSION_MISMATCH;
use temporalio_workflow::{ActivityExecutionError, ActivityOptions, TimerOptions, WorkflowCancellationToken};

use super::failure::{NOT_REGISTERED, NOT_REGISTERED_IN_GO, failure_type, is_non_retryable, message_of};
use crate::workflow::context::DurableContext;

/// The patch of runs that wait for deploys.
const WAITS_FOR_DEPLOYS: &str = "temporal-agents/waits-for-deploys";
/// Time to wait for a worker that has an activity, from the first refusal on.
const UNTIL_REGISTERED: Duration = Duration::from_mins(5);
/// Time to wait for a worker that can read a request, from the first refusal on.
const UNTIL_NEWER: Duration = Duration::from_mins(10);
/// Delays in seconds, the last one repeatedly. They grow, because each activity is in history with
/// its whole input: at most 15 in five minutes and 20 in ten, 40 MB of the largest requests, below
/// the 50 MB at which a server ends a workflow.
const DELAYS_SECS: [u64; 12] = [1, 2, 3, 4, 5, 5, 10, 10, 20, 30, 30, 60];
/// Maximum characters of the name in the summary of a timer; the server accepts 400 bytes.
const LONGEST_NAME: usize = 80;

/// An activity that may have to wait for a worker that accepts it.
pub(in crate::workflow) struct Wanted<'w> {
    pub(in crate::workflow) ctx: &'w Rc<dyn DurableContext>,
    /// Id of the activity; further attempts to schedule it append `-retry-<n>`.
    pub(in crate::workflow) id: &'w str,
    /// The thing that a worker must have, for the summary of the timer.
    pub(in crate::workflow) what: Requirement<'w>,
    /// Maximum time of all attempts of the activity, if it has its own limit.
    pub(in crate::workflow) longest: Option<Duration>,
    pub(in crate::workflow) token: &'w WorkflowCancellationToken,
}

/// The thing that a worker must have to execute an activity, with its name.
#[derive(Clone, Copy, Debug)]
pub(in crate::workflow) enum Requirement<'n> {
    Tool(&'n str),
    McpServer(&'n str),
    /// A transport of remote tools.
    Transport(&'n str),
    /// An activity of this library.
    Activity(&'n str),
    /// An activity that does not belong to this library.
    Remote(&'n str),
}

impl Requirement<'_> {
    fn described(self) -> String {
        let (kind, name) = match self {
            Self::Tool(name) => ("tool", name),
            Self::McpServer(name) => ("MCP server", name),
            Self::Transport(name) => ("transport", name),
            Self::Activity(name) | Self::Remote(name) => ("activity", name),
        };
        format!("{kind} `{}`", name.chars().take(LONGEST_NAME).collect::<String>())
    }
}

/// The result of an activity.
pub(in crate::workflow) struct Answered<T> {
    pub(in crate::workflow) result: T,
    /// Id under which the activity was scheduled last.
    pub(in crate::workflow) activity_id: String,
}

/// The reason why an activity has no result.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "callers destructure it at once")]
pub(in crate::workflow) enum Unanswered {
    /// The run was cancelled.
    Cancelled,
    /// The activity failed, after this time of waiting for a worker; `None` if there was no wait.
    Failed(ActivityExecutionError, Option<Duration>),
}

/// The reason why a worker has done nothing with an activity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refusal {
    NotRegistered,
    TooNew,
}

impl Wanted<'_> {
    /// Schedules the activity, and schedules it again under other ids for as long as workers refuse
    /// it and a deploy may still bring one that accepts it.
    pub(in crate::workflow) async fn answer<T>(
        &self,
        schedule: impl Fn(String) -> LocalBoxFuture<'static, Result<T, ActivityExecutionError>>,
    ) -> Result<Answered<T>, Unanswered> {
        let (mut activity_id, mut since, mut times) = (self.id.to_owned(), None, 0);
        loop {
            let failure = match schedule(activity_id.clone()).await {
                Ok(result) => return Ok(Answered { result, activity_id }),
                Err(ActivityExecutionError::Cancelled(_)) => return Err(Unanswered::Cancelled),
                Err(failure) if failure.as_cancelled().is_some() => return Err(Unanswered::Cancelled),
                Err(failure) => failure,
            };
            let waited = self.since(&mut since);
            let failed = |failure| Unanswered::Failed(failure, waited.filter(|_| times > 0));
            let (Some(refusal), Some(time)) = (Refusal::of(&failure, self.what), waited) else {
                return Err(failed(failure));
            };
            let Some(pause) = refusal.pause(time, times, self.longest).filter(|_| !self.token.is_cancelled()) else {
                return Err(failed(failure));
            };
            if times == 0 && !self.ctx.patched(WAITS_FOR_DEPLOYS) {
                return Err(failed(failure));
            }
            self.wait(refusal, pause, &failure).await?;
            times += 1;
            activity_id = format!("{}-retry-{times}", self.id);
        }
    }

    /// Returns the time since this was first called with `since`.
    fn since(&self, since: &mut Option<SystemTime>) -> Option<Duration> {
        let now = self.ctx.workflow_time()?;
        Some(now.duration_since(*since.get_or_insert(now)).unwrap_or_default())
    }

    async fn wait(
        &self,
        refusal: Refusal,
        pause: Duration,
        failure: &ActivityExecutionError,
    ) -> Result<(), Unanswered> {
        let what = self.what.described();
        let summary = match refusal {
            Refusal::NotRegistered => format!("waiting for a worker that has {what}"),
            Refusal::TooNew => format!("waiting for a newer worker that has {what}"),
        };
        if !self.ctx.is_replaying() {
            tracing::warn!(activity_id = self.id, reason = message_of(failure), ?pause, "{summary}");
        }
        let timer = TimerOptions::builder(pause).cancellation_token(self.token.clone()).summary(summary).build();
        if self.ctx.timer(timer).await { Ok(()) } else { Err(Unanswered::Cancelled) }
    }
}

/// Returns the options with this activity id.
pub(in crate::workflow) fn with_activity_id(options: &ActivityOptions, id: String) -> ActivityOptions {
    let mut options = options.clone();
    // An activity that is executed eagerly goes to the worker that has just completed the workflow
    // task: the one that may have refused it.
    options.do_not_eagerly_execute |= options.activity_id.as_ref() != Some(&id);
    options.activity_id = Some(id);
    options
}

impl Refusal {
    fn of(failure: &ActivityExecutionError, what: Requirement<'_>) -> Option<Self> {
        match failure_type(failure)? {
            // The author's activity may itself fail with a type of this name, and has then run.
            NOT_REGISTERED if matches!(what, Requirement::Remote(_)) => {
                // In the wording of the SDKs for Python and for TypeScript.
                let message = message_of(failure);
                let is_told = |worker: &str| message.contains(&format!("is not registered on this {worker}"));
                (is_told("worker") || is_told("Worker")).then_some(Self::NotRegistered)
            }
            NOT_REGISTERED => Some(Self::NotRegistered),
            NOT_REGISTERED_IN_GO if matches!(what, Requirement::Remote(_)) => Some(Self::NotRegistered),
            // A worker marks this as non-retryable if the message is too old, or if the worker
            // itself has waited long enough.
            WIRE_VERSION_MISMATCH if !matches!(what, Requirement::Remote(_)) && !is_non_retryable(failure) => {
                Some(Self::TooNew)
            }
            _ => None,
        }
    }

    /// Returns the delay before the activity is scheduled again, after a wait of `waited` and
    /// `times` retries; `None` if the time is used up.
    fn pause(self, waited: Duration, times: usize, longest: Option<Duration>) -> Option<Duration> {
        let patience = match self {
            Self::NotRegistered => UNTIL_REGISTERED,
            Self::TooNew => UNTIL_NEWER,
        };
        let left = longest.map_or(patience, |longest| longest.min(patience)).saturating_sub(waited);
        let pause = Duration::from_secs(DELAYS_SECS[times.min(DELAYS_SECS.len() - 1)]);
        Some(pause.min(left)).filter(|pause| !pause.is_zero())
    }
}

#[cfg(test)]
mod tests;
