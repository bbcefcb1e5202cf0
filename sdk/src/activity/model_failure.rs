//! The failures of activities whose request another worker may take, and of model calls.

use std::time::{Duration, SystemTime};

use temporal_agents_core::{
    tool::BoxError,
    wire::{ModelFailureDetails, ModelFailureKind, WIRE_VERSION, WireVersionMismatch, failure::WIRE_VERSION_MISMATCH},
};
use temporalio_common::error::ApplicationFailure;
use temporalio_sdk::activities::ActivityInfo;

use crate::provider::ModelError;

/// The time that a request newer than this worker waits for a newer worker, from when the call was
/// first scheduled.
const WAIT_FOR_NEWER_WORKER: Duration = Duration::from_mins(10);
/// The time that a call waits for a worker that serves its model, from when it was first scheduled.
const WAIT_FOR_PROVIDER: Duration = Duration::from_mins(5);
/// The pause between two attempts at a call that waits for another worker.
const DEPLOY_PAUSE: Duration = Duration::from_secs(5);

/// Returns the failure for a message of another release; retryable while a newer worker may still
/// be deployed.
pub(crate) fn version_mismatch(info: &ActivityInfo, mismatch: WireVersionMismatch) -> ApplicationFailure {
    let is_newer = mismatch.is_newer();
    for_another_worker(info, mismatch, is_newer)
}

/// Returns the failure for a message that another worker may be able to process; retryable for a
/// limited time, if `other_worker_possible` states that such a worker may exist.
pub(crate) fn for_another_worker(
    info: &ActivityInfo,
    error: impl Into<BoxError>,
    other_worker_possible: bool,
) -> ApplicationFailure {
    let wait = other_worker_possible && has_waited(info) < WAIT_FOR_NEWER_WORKER;
    ApplicationFailure::builder(error)
        .type_name(WIRE_VERSION_MISMATCH.to_owned())
        .non_retryable(!wait)
        .maybe_next_retry_delay(wait.then_some(DEPLOY_PAUSE))
        .build()
}

/// Returns the time since an activity was first scheduled.
fn has_waited(info: &ActivityInfo) -> Duration {
    info.scheduled_time.and_then(|scheduled| SystemTime::now().duration_since(scheduled).ok()).unwrap_or_default()
}

/// The retry that follows a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Retry {
    /// No retry.
    Never,
    /// A retry after the pause of the retry policy.
    ByPolicy,
    /// A retry after this pause.
    After(Duration),
}

impl Retry {
    pub(crate) fn of(info: &ActivityInfo, error: &ModelError) -> Self {
        // Another worker of the queue may be of a release that serves the model.
        let waits = error.kind == ModelFailureKind::UnknownModel && error.retryable.is_none();
        if waits && has_waited(info) < WAIT_FOR_PROVIDER {
            return Self::After(DEPLOY_PAUSE);
        }
        if !error.may_pass(info.attempt) {
            return Self::Never;
        }
        error.requested_pause().map_or(Self::ByPolicy, Self::After)
    }

    /// Returns the pause before the retry, if that of the policy is `by_policy`; `None` if no retry
    /// follows.
    pub(crate) fn pause(self, by_policy: Duration) -> Option<Duration> {
        match self {
            Self::Never => None,
            Self::ByPolicy => Some(by_policy),
            Self::After(pause) => Some(pause),
        }
    }

    /// Returns the pause that overrides that of the retry policy, if any.
    fn pause_override(self) -> Option<Duration> {
        if let Self::After(pause) = self { Some(pause) } else { None }
    }
}

/// Converts the failure of a model call to the failure of its activity.
pub(crate) fn failure(info: &ActivityInfo, agent: &str, model: &str, error: ModelError) -> ApplicationFailure {
    let details = ModelFailureDetails {
        version: WIRE_VERSION,
        kind: error.kind.name().to_owned(),
        agent: agent.to_owned(),
        model: model.to_owned(),
        status: error.status,
        code: error.code.clone(),
        request_id: error.request_id.clone(),
        retry_after_ms: error.retry_after.map(|pause| u64::try_from(pause.as_millis()).unwrap_or(u64::MAX)),
    };
    let retry = Retry::of(info, &error);
    ApplicationFailure::builder(error.to_string())
        .type_name(error.kind.failure_type())
        .non_retryable(retry == Retry::Never)
        .maybe_next_retry_delay(retry.pause_override())
        .details(details)
        .build()
}
