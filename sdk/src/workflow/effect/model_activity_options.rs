//! Options for scheduling model calls as activities.
//!
//! # Design
//! **Options of model calls belong to the workflow's code, not to the plugin of its worker.** The
//! workflow schedules the calls, and may continue on another worker, or on one of a later deploy,
//! whose plugin differs. So `Runner`, `AgentSet` and `ActivityBackedModel` have them; unlike the
//! plugin of the TypeScript integration, `AgentsPlugin` has no `modelParams`.

use std::time::Duration;

use temporal_agents_core::{
    drive::{
        guard::Panic,
        model_limits::{
            ALL_ATTEMPTS, ATTEMPT, FACTOR, FIRST_PAUSE, LONGEST_PAUSE, Retries, TIMEOUT_SETTING, attempt_limit,
            exceeded,
        },
    },
    wire::{ModelCall, ModelSettings},
};
use temporalio_workflow::{
    ActivityCancellationType, ActivityCloseTimeouts, ActivityOptions, LocalActivityOptions, RetryPolicy,
    WorkflowCancellationToken, common::Priority,
};

use super::{
    failure::NEVER_RETRIED,
    summary::Summary,
    time::{LONGEST, accepted},
};

/// Options for scheduling model calls as activities. With the defaults, attempts continue for 6
/// hours, so that a run survives a long outage of a provider, and a hung call is ended.
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
    /// Maximum time of one attempt. Default 10 min; `ModelSettings::timeout` takes precedence.
    #[builder(default = ATTEMPT)]
    pub start_to_close: Duration,
    /// Maximum time of all attempts and the delays between them. Default 6 h. This also limits the
    /// time that a call waits for a worker that calls models, or that serves its model, which is
    /// five minutes at most.
    #[builder(default = ALL_ATTEMPTS)]
    pub schedule_to_close: Duration,
    /// Maximum time until a worker accepts the call. Default: no limit.
    pub schedule_to_start: Option<Duration>,
    /// Maximum time without a heartbeat; the worker sends heartbeats automatically. Default 30 s.
    #[builder(default = Duration::from_secs(30))]
    pub heartbeat: Duration,
    /// Retry policy for failed attempts. `ModelSettings::retry` takes precedence.
    #[builder(default)]
    pub retry: ModelRetryPolicy,
    /// Task queue whose worker calls the model. Default: the workflow's own.
    pub task_queue: Option<String>,
    /// Priority of the activity's task.
    pub priority: Option<Priority>,
    /// Condition that the cancellation of a call waits for. Default: none, the cancellation is only
    /// requested.
    #[builder(default = ActivityCancellationType::TryCancel)]
    pub cancellation_type: ActivityCancellationType,
    /// Summary of the call in the Temporal UI. Default: agent and turn.
    #[builder(default, into)]
    pub summary: Summary,
    /// Maximum bytes of JSON in one request: definitions and items that are not in history yet.
    /// Items that are together larger are first recorded by activities of their own. A single item,
    /// or definitions, above the limit fail the run before anything is scheduled, because the
    /// server refuses payloads over 2 MiB and the workflow task would be retried forever. A
    /// compressing codec allows more. Default 2,000,000.
    ///
    /// # Determinism
    /// The limit decides which activities are scheduled: another value is a change of workflow code
    /// for running executions whose requests are close to it. One fifth is kept for instructions, tools
    /// and schemas, which decide nothing up to that size.
    #[builder(default = 2_000_000)]
    pub max_request_bytes: usize,
    /// Runs the calls as local activities: these are faster, and have no task of their own and no
    /// heartbeats. Default `false`.
    #[builder(default)]
    pub local: bool,
}

/// Maximum time of an attempt to record items, which is an activity that does nothing.
const RECORD_TIMEOUT: Duration = Duration::from_mins(1);

/// Retry policy for failed attempts of a model call. A delay that the provider requests by
/// `retry-after` takes precedence.
#[derive(Clone, Debug, PartialEq, bon::Builder)]
#[non_exhaustive]
pub struct ModelRetryPolicy {
    /// Delay before the first retry. Default 1 s.
    #[builder(default = FIRST_PAUSE)]
    pub initial_interval: Duration,
    /// Factor from one delay to the next. Default 2.
    #[builder(default = FACTOR)]
    pub backoff_coefficient: f64,
    /// Maximum delay. Default 60 s.
    #[builder(default = LONGEST_PAUSE)]
    pub maximum_interval: Duration,
    /// Maximum number of attempts; 0 = until `schedule_to_close`. Default 0.
    #[builder(default)]
    pub maximum_attempts: u32,
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

/// One call that is about to be scheduled, with its activity id and cancellation token.
pub(in crate::workflow) struct Scheduling<'a> {
    pub(in crate::workflow) call: &'a ModelCall,
    pub(in crate::workflow) activity_id: String,
    pub(in crate::workflow) token: WorkflowCancellationToken,
}

impl ModelActivityOptions {
    /// Returns the options of a call as an activity.
    ///
    /// # Errors
    /// The panic of the author's summary function.
    pub(in crate::workflow) fn activity(&self, at: Scheduling<'_>) -> Result<ActivityOptions, Panic> {
        let summary = self.summary.of(at.call)?;
        let close = ActivityCloseTimeouts::ScheduleAndStartToClose {
            start_to_close: self.attempt_limit(&at.call.definitions.settings),
            schedule_to_close: accepted(self.schedule_to_close),
        };
        let options = ActivityOptions::with_close_timeouts(close)
            .activity_id(at.activity_id)
            .maybe_task_queue(self.task_queue.clone())
            .maybe_schedule_to_start_timeout(self.schedule_to_start.map(accepted))
            .heartbeat_timeout(self.heartbeat.min(LONGEST))
            .cancellation_type(self.cancellation_type)
            .cancellation_token(at.token)
            .retry_policy(self.retry_policy(&at.call.definitions.settings))
            .summary(summary)
            .maybe_priority(self.priority.clone())
            .build();
        Ok(options)
    }

    /// Returns the options of an activity that records items of a call: it goes to the same task
    /// queue as the call, and does nothing there.
    pub(in crate::workflow) fn recording(&self, at: Scheduling<'_>, items: usize) -> ActivityOptions {
        let close = ActivityCloseTimeouts::ScheduleAndStartToClose {
            start_to_close: RECORD_TIMEOUT,
            schedule_to_close: accepted(self.schedule_to_close),
        };
        ActivityOptions::with_close_timeouts(close)
            .activity_id(at.activity_id)
            .maybe_task_queue(self.task_queue.clone())
            .maybe_schedule_to_start_timeout(self.schedule_to_start.map(accepted))
            .cancellation_token(at.token)
            .retry_policy(RetryPolicy::builder().non_retryable_error_types(NEVER_RETRIED).build())
            .summary(format!("{} · turn {} · records {items} items", at.call.agent, at.call.turn))
            .maybe_priority(self.priority.clone())
            .build()
    }

    /// Returns the options of a call as a local activity.
    ///
    /// # Errors
    /// The panic of the author's summary function.
    pub(in crate::workflow) fn local_activity(&self, at: Scheduling<'_>) -> Result<LocalActivityOptions, Panic> {
        let summary = self.summary.of(at.call)?;
        let options = LocalActivityOptions::builder()
            .activity_id(at.activity_id)
            .retry_policy(self.retry_policy(&at.call.definitions.settings))
            .cancel_type(self.cancellation_type)
            .cancellation_token(at.token)
            .start_to_close_timeout(self.attempt_limit(&at.call.definitions.settings))
            .schedule_to_close_timeout(accepted(self.schedule_to_close))
            .maybe_schedule_to_start_timeout(self.schedule_to_start.map(accepted))
            .summary(summary)
            .build();
        Ok(options)
    }

    /// Returns the failure message for an attempt of this call that exceeded its time.
    pub(in crate::workflow) fn exceeded_by(&self, call: &ModelCall) -> String {
        let settings = &call.definitions.settings;
        let setting = attempt_limit(settings).map_or("ModelActivityOptions::start_to_close", |_| TIMEOUT_SETTING);
        exceeded(&call.agent, &call.model, self.attempt_limit(settings), setting)
    }

    fn attempt_limit(&self, settings: &ModelSettings) -> Duration {
        accepted(attempt_limit(settings).unwrap_or(self.start_to_close))
    }

    /// Returns the policy in a form that the server accepts: it refuses a maximum delay below the
    /// initial one, and a refused command makes the workflow task fail forever.
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
