//! How model calls are scheduled as activities.

use std::{sync::Arc, time::Duration};

use temporalio_workflow::{
    ActivityCancellationType, ActivityCloseTimeouts, ActivityOptions, LocalActivityOptions, RetryPolicy,
    WorkflowCancellationToken, common::Priority,
};

use super::{
    failure::NEVER_RETRIED,
    time::{LONGEST, accepted},
};
use crate::{
    agent::AgentInfo,
    drive::{
        guard::{Panic, guarded},
        model_limits::{
            ALL_ATTEMPTS, ATTEMPT, FACTOR, FIRST_PAUSE, LONGEST_PAUSE, Retries, TIMEOUT_SETTING, attempt_limit,
            exceeded,
        },
    },
    wire::{ModelCall, ModelSettings},
};

/// How model calls are scheduled. The defaults let a run outlive an hour's outage of a provider, and end a hung call.
///
/// ```
/// use std::time::Duration;
/// use temporal_agents::ModelActivityOptions;
///
/// let options = ModelActivityOptions::builder().start_to_close(Duration::from_secs(120)).build();
/// ```
#[derive(Clone, Debug, bon::Builder)]
#[builder(on(String, into))]
#[non_exhaustive]
pub struct ModelActivityOptions {
    /// Longest time of one attempt. Default 10 min; `ModelSettings::timeout` goes first.
    #[builder(default = ATTEMPT)]
    pub start_to_close: Duration,
    /// Longest time of all attempts and the pauses between them. Default 6 h. It also bounds how long a call waits for a worker that calls models,
    /// or that serves its model, which is five minutes at most.
    #[builder(default = ALL_ATTEMPTS)]
    pub schedule_to_close: Duration,
    /// Longest time until a worker takes the call. Default: no limit.
    pub schedule_to_start: Option<Duration>,
    /// Longest time without a heartbeat; the worker sends them by itself. Default 30 s.
    #[builder(default = Duration::from_secs(30))]
    pub heartbeat: Duration,
    /// How failed attempts are repeated. `ModelSettings::retry` goes first.
    #[builder(default)]
    pub retry: ModelRetryPolicy,
    /// The task queue whose worker calls the model. Default: the workflow's own.
    pub task_queue: Option<String>,
    /// Priority of the activity's task.
    pub priority: Option<Priority>,
    /// What cancelling a call waits for. Default: nothing, the cancellation is only requested.
    #[builder(default = ActivityCancellationType::TryCancel)]
    pub cancellation_type: ActivityCancellationType,
    /// The line the Temporal UI shows. Default: agent and turn.
    #[builder(default, into)]
    pub summary: Summary,
    /// Most bytes of JSON in one request: definitions and items that are not in history yet. Items that are more together are recorded
    /// by themselves first; one item that is larger, or definitions, fail the run before anything is scheduled, because the server
    /// refuses payloads over 2 MiB and the workflow task would be retried for ever. A compressing codec allows more. Default
    /// 2,000,000.
    ///
    /// # Determinism
    /// It decides which activities are scheduled: another value is a change of workflow code, with runs under way that are near it.
    #[builder(default = 2_000_000)]
    pub max_request_bytes: usize,
    /// Runs the calls as local activities: faster, without a task of their own, and without heartbeats. Default false.
    #[builder(default)]
    pub local: bool,
}

/// The limit of an activity that does nothing.
const RECORDING: Duration = Duration::from_mins(1);

/// How failed attempts of a model call are repeated. What the provider asks for by `retry-after` goes first.
#[derive(Clone, Debug, PartialEq, bon::Builder)]
#[non_exhaustive]
pub struct ModelRetryPolicy {
    /// The pause before the first retry. Default 1 s.
    #[builder(default = FIRST_PAUSE)]
    pub initial_interval: Duration,
    /// The factor from one pause to the next. Default 2.
    #[builder(default = FACTOR)]
    pub backoff_coefficient: f64,
    /// The longest pause. Default 60 s.
    #[builder(default = LONGEST_PAUSE)]
    pub maximum_interval: Duration,
    /// Most attempts; 0 = until `schedule_to_close`. Default 0.
    #[builder(default)]
    pub maximum_attempts: u32,
}

/// The line the Temporal UI shows for a model call.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum Summary {
    /// `<agent> · turn <n>`.
    #[default]
    AgentAndTurn,
    /// Always this text.
    Fixed(String),
    /// What this function says.
    Computed(Arc<dyn Fn(&AgentInfo) -> String + Send + Sync>),
}

impl Summary {
    /// A line computed from agent and turn.
    ///
    /// # Determinism
    /// The function runs in the workflow: it may use its argument and nothing else.
    pub fn computed(summary: impl Fn(&AgentInfo) -> String + Send + Sync + 'static) -> Self {
        Self::Computed(Arc::new(summary))
    }

    fn of(&self, agent: &AgentInfo) -> Result<String, Panic> {
        match self {
            Self::AgentAndTurn => Ok(format!("{} · turn {}", agent.name, agent.turn)),
            Self::Fixed(text) => Ok(text.clone()),
            Self::Computed(compute) => guarded(|| compute(agent)),
        }
    }
}

impl From<&str> for Summary {
    fn from(text: &str) -> Self {
        Self::Fixed(text.to_owned())
    }
}

impl From<String> for Summary {
    fn from(text: String) -> Self {
        Self::Fixed(text)
    }
}

impl std::fmt::Debug for Summary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::AgentAndTurn => f.write_str("AgentAndTurn"),
            Self::Fixed(text) => f.debug_tuple("Fixed").field(text).finish(),
            Self::Computed(_) => f.write_str("Computed"),
        }
    }
}

impl Default for ModelActivityOptions {
    fn default() -> Self {
        Self::builder().build()
    }
}

impl Default for ModelRetryPolicy {
    fn default() -> Self {
        Self::builder().build()
    }
}

/// One scheduling: which call, under which id, in which scope.
pub(in crate::workflow) struct Scheduling<'a> {
    pub(in crate::workflow) agent: AgentInfo,
    pub(in crate::workflow) settings: &'a ModelSettings,
    pub(in crate::workflow) activity_id: String,
    pub(in crate::workflow) token: WorkflowCancellationToken,
}

impl ModelActivityOptions {
    /// The options of a call as an activity.
    ///
    /// # Errors
    /// The panic of the author's summary function.
    pub(in crate::workflow) fn activity(&self, at: Scheduling<'_>) -> Result<ActivityOptions, Panic> {
        let summary = self.summary.of(&at.agent)?;
        let close = ActivityCloseTimeouts::ScheduleAndStartToClose {
            start_to_close: self.attempt_limit(at.settings),
            schedule_to_close: accepted(self.schedule_to_close),
        };
        let options = ActivityOptions::with_close_timeouts(close)
            .activity_id(at.activity_id)
            .maybe_task_queue(self.task_queue.clone())
            .maybe_schedule_to_start_timeout(self.schedule_to_start.map(accepted))
            .heartbeat_timeout(self.heartbeat.min(LONGEST))
            .cancellation_type(self.cancellation_type)
            .cancellation_token(at.token)
            .retry_policy(self.retry_policy(at.settings))
            .summary(summary)
            .maybe_priority(self.priority.clone())
            .build();
        Ok(options)
    }

    /// The options of an activity that records items of a call: it goes where the call goes, and does nothing there.
    pub(in crate::workflow) fn recording(&self, at: Scheduling<'_>, items: usize) -> ActivityOptions {
        let close = ActivityCloseTimeouts::ScheduleAndStartToClose {
            start_to_close: RECORDING,
            schedule_to_close: accepted(self.schedule_to_close),
        };
        ActivityOptions::with_close_timeouts(close)
            .activity_id(at.activity_id)
            .maybe_task_queue(self.task_queue.clone())
            .maybe_schedule_to_start_timeout(self.schedule_to_start.map(accepted))
            .cancellation_token(at.token)
            .retry_policy(RetryPolicy::builder().non_retryable_error_types(NEVER_RETRIED).build())
            .summary(format!("{} · turn {} · records {items} items", at.agent.name, at.agent.turn))
            .maybe_priority(self.priority.clone())
            .build()
    }

    /// The options of a call as a local activity.
    ///
    /// # Errors
    /// The panic of the author's summary function.
    pub(in crate::workflow) fn local_activity(&self, at: Scheduling<'_>) -> Result<LocalActivityOptions, Panic> {
        let summary = self.summary.of(&at.agent)?;
        let options = LocalActivityOptions::builder()
            .activity_id(at.activity_id)
            .retry_policy(self.retry_policy(at.settings))
            .cancel_type(self.cancellation_type)
            .cancellation_token(at.token)
            .start_to_close_timeout(self.attempt_limit(at.settings))
            .schedule_to_close_timeout(accepted(self.schedule_to_close))
            .maybe_schedule_to_start_timeout(self.schedule_to_start.map(accepted))
            .summary(summary)
            .build();
        Ok(options)
    }

    /// The failure of an attempt of this call that has taken too long.
    pub(in crate::workflow) fn exceeded_by(&self, call: &ModelCall) -> String {
        let settings = &call.definitions.settings;
        let setting = attempt_limit(settings).map_or("ModelActivityOptions::start_to_close", |_| TIMEOUT_SETTING);
        exceeded(&call.agent, &call.model, self.attempt_limit(settings), setting)
    }

    fn attempt_limit(&self, settings: &ModelSettings) -> Duration {
        accepted(attempt_limit(settings).unwrap_or(self.start_to_close))
    }

    /// The policy in a form the server takes: it refuses pauses that shrink, and a refused command fails the workflow task
    /// for ever.
    fn retry_policy(&self, settings: &ModelSettings) -> RetryPolicy {
        let ModelRetryPolicy { initial_interval, backoff_coefficient, maximum_interval, maximum_attempts } = self.retry;
        let retries = Retries {
            initial: initial_interval,
            factor: backoff_coefficient,
            longest: maximum_interval,
            attempts: maximum_attempts,
        };
        let Retries { initial, factor, longest, attempts } = retries.replaced_by(settings);
        let initial = accepted(initial);
        RetryPolicy::builder()
            .initial_interval(initial)
            .backoff_coefficient(factor)
            .maximum_interval(accepted(longest).max(initial))
            .maximum_attempts(attempts)
            .non_retryable_error_types(NEVER_RETRIED)
            .build()
    }
}
