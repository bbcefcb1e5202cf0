//! Conversion of Temporal's failures into the run's errors, and of the run's errors into the end of
//! a workflow.
//!
//! # Design
//! The retry policies tell the server not to retry `NotFoundError`. A worker returns it for an
//! activity that it does not have; without this, the server would retry it forever.
//!
//! **For a workflow's own retry policy, the outer failure of a failed model call is retryable,** as
//! the activity's failure was. The classification of the call is in the cause.

use std::{fmt, time::Duration};

use serde::de::DeserializeOwned;
use serde_json::Value;
use temporal_agents_core::{
    agent::SpecError,
    drive::{RunFailure, write_structure},
    engine::{ConversationLost, RunError, TriedFor},
    tool::{BoxError, WorkflowToolError},
    wire::{
        AgentReport, RunState, decode,
        error_debug::{ErrorStructure, structure_and_message},
        failure::AGENTS_WORKFLOW_ERROR,
    },
};
use temporalio_workflow::{
    ActivityExecutionError, WorkflowTermination,
    common::{
        error::{ApplicationFailure, IncomingError},
        protos::temporal::api::{
            enums::v1::TimeoutType,
            failure::v1::{Failure, failure::FailureInfo},
        },
    },
};

use crate::workflow::continuing::NextExecution;

/// The failure type that a worker returns for an activity that it does not have. The worker marks
/// it as retryable, so that the server would retry it forever; `until_deployed.rs` schedules such
/// an activity again.
pub(in crate::workflow) const NOT_REGISTERED: &str = "NotFoundError";

/// The failure type that a worker of the Go SDK returns for an activity that it does not have.
pub(in crate::workflow) const NOT_REGISTERED_IN_GO: &str = "ActivityNotRegisteredError";

/// The failure type of a result that the server does not accept because of its size. The effect has
/// happened, and another attempt would repeat it.
pub(in crate::workflow) const PAYLOADS_TOO_LARGE: &str = "PayloadsTooLarge";
/// The failure type of an attempt that a worker abandoned because it shut down.
pub(in crate::workflow) const WORKER_SHUTDOWN: &str = "WorkerShutdown";
/// Failure types that another attempt cannot fix, although the SDK marks them as retryable.
pub(in crate::workflow) const NEVER_RETRIED: [&str; 2] = [NOT_REGISTERED, PAYLOADS_TOO_LARGE];

/// A failed activity with a message that says what happened; the Temporal failure is its source.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct EffectFailure {
    message: String,
    #[source]
    failure: ActivityExecutionError,
}

impl EffectFailure {
    pub(in crate::workflow) fn new(failure: ActivityExecutionError) -> Self {
        Self { message: describe(&failure), failure }
    }

    /// Creates the error of an activity that failed after `tried_for` of waiting for a worker,
    /// which the message mentions.
    pub(in crate::workflow) fn after(failure: ActivityExecutionError, tried_for: Option<Duration>) -> Self {
        Self { message: format!("{}{}", describe(&failure), TriedFor(tried_for)), failure }
    }

    /// Creates an error with another message, for Temporal failures whose own message says less.
    pub(in crate::workflow) fn with_message(message: String, failure: ActivityExecutionError) -> Self {
        Self { message, failure }
    }

    /// Returns the Temporal failure.
    pub fn failure(&self) -> &ActivityExecutionError {
        &self.failure
    }
}

/// A model call that no worker accepts. The Temporal failure lists activities, and does not say how
/// to fix that.
#[derive(Debug, thiserror::Error)]
#[error(
    "no worker on task queue {task_queue:?} calls models; install AgentsPlugin with a model provider on it{tried_for}"
)]
pub(in crate::workflow) struct NoModelActivity {
    pub(in crate::workflow) task_queue: String,
    pub(in crate::workflow) tried_for: TriedFor,
    #[source]
    pub(in crate::workflow) failure: ActivityExecutionError,
}

/// Returns the innermost message with its failure type: an activity failure itself only says that
/// an activity failed.
fn describe(failure: &ActivityExecutionError) -> String {
    match (reason(failure), failure_type(failure)) {
        (Some(reason), Some(type_name)) => format!("{type_name}: {}", reason.message),
        (Some(reason), None) => reason.message.clone(),
        (None, _) => failure.to_string(),
    }
}

/// Returns the failure that an activity failed with. A local activity has no activity failure
/// around it, so that the SDK's `ActivityExecutionError::reason` is empty for it.
fn reason(failure: &ActivityExecutionError) -> Option<&Failure> {
    let outer = failure.failure()?;
    match outer.failure_info {
        Some(FailureInfo::ActivityFailureInfo(_)) => outer.cause.as_deref(),
        _ => Some(outer),
    }
}

/// Returns the innermost message without its failure type.
pub(in crate::workflow) fn message_of(failure: &ActivityExecutionError) -> String {
    reason(failure).map_or_else(|| failure.to_string(), |reason| reason.message.clone())
}

/// Returns the type of the application failure behind a failed activity, if it has one.
pub(in crate::workflow) fn failure_type(failure: &ActivityExecutionError) -> Option<&str> {
    match &reason(failure)?.failure_info {
        Some(FailureInfo::ApplicationFailureInfo(info)) => Some(&*info.r#type).filter(|name| !name.is_empty()),
        _ => None,
    }
}

/// Returns the application failure behind a failed activity, if there is one.
pub(in crate::workflow) fn application(failure: &ActivityExecutionError) -> Option<&ApplicationFailure> {
    match failure.reason() {
        Some(IncomingError::Application(reason)) => Some(reason),
        _ => None,
    }
}

/// Returns the first detail of the application failure behind a failed activity, if it is JSON.
pub(in crate::workflow) fn detail(failure: &ActivityExecutionError) -> Option<Value> {
    detail_of(reason(failure)?)
}

/// Returns the first detail of an application failure, if it is JSON.
pub(in crate::workflow) fn detail_of(failure: &Failure) -> Option<Value> {
    first_detail(failure)
}

/// Returns the report that the run of an agent has left in the failure of its workflow.
pub(in crate::workflow) fn report_of(failure: &Failure) -> Option<AgentReport> {
    decode("agent report", first_detail(failure)?).ok()
}

fn first_detail<T: DeserializeOwned>(failure: &Failure) -> Option<T> {
    match &failure.failure_info {
        Some(FailureInfo::ApplicationFailureInfo(info)) => {
            serde_json::from_slice(&info.details.as_ref()?.payloads.first()?.data).ok()
        }
        _ => None,
    }
}

/// Returns the timeout that a failed activity has exceeded, if it failed because of a timeout.
pub(in crate::workflow) fn timeout_of(failure: &ActivityExecutionError) -> Option<TimeoutType> {
    match &reason(failure)?.failure_info {
        Some(FailureInfo::TimeoutFailureInfo(info)) => TimeoutType::try_from(info.timeout_type).ok(),
        _ => None,
    }
}

/// Returns the reason for the loss of the last attempt with its worker, if it was lost: no worker
/// has logged it.
pub(in crate::workflow) fn lost_attempt(failure: &ActivityExecutionError) -> Option<String> {
    let is_lost = timeout_of(failure) == Some(TimeoutType::Heartbeat) || failure_type(failure) == Some(WORKER_SHUTDOWN);
    is_lost.then(|| message_of(failure))
}

/// Returns the data of the first detail of the failure behind a failed activity: of its last
/// heartbeat if it has timed out, otherwise of its own application failure.
pub(in crate::workflow) fn details_of(failure: &ActivityExecutionError) -> Option<&[u8]> {
    let details = match &reason(failure)?.failure_info {
        Some(FailureInfo::TimeoutFailureInfo(info)) => info.last_heartbeat_details.as_ref(),
        Some(FailureInfo::ApplicationFailureInfo(info)) => info.details.as_ref(),
        _ => None,
    };
    details?.payloads.first().map(|payload| &*payload.data)
}

/// Returns `true` if the application failure behind a failed activity is marked as non-retryable.
pub(in crate::workflow) fn is_non_retryable(failure: &ActivityExecutionError) -> bool {
    matches!(
        reason(failure).and_then(|reason| reason.failure_info.as_ref()),
        Some(FailureInfo::ApplicationFailureInfo(info)) if info.non_retryable
    )
}

/// Returns `true` if the activity failed because its worker does not have it.
pub(in crate::workflow) fn is_not_registered(failure: &ActivityExecutionError) -> bool {
    failure_type(failure) == Some(NOT_REGISTERED)
}

/// Converts the error of a failed run into the end of its workflow, so that the author can use `?`.
///
/// A run that failed in a workflow: the [`RunFailure`] of other hosts, with the end of the workflow
/// that `?` makes of it.
#[derive(thiserror::Error)]
#[error("{error}")]
#[non_exhaustive]
pub struct RunFailed {
    /// The error that ended the run.
    #[source]
    pub error: RunError,
    /// The state of the run at its end; see [`RunFailure::state`].
    pub state: Option<Box<RunState>>,
}

impl RunFailed {
    /// Returns `true` if nothing has failed: the run continues in the next execution of its
    /// workflow, if the author returns this value with `?`.
    pub fn continues_as_new(&self) -> bool {
        matches!(self.error, RunError::ContinuesAsNew { .. })
    }
}

impl ErrorStructure for RunFailed {
    fn structure(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_structure("RunFailed", &self.error, self.state.as_deref(), f)
    }
}

impl fmt::Debug for RunFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        structure_and_message(self, f)
    }
}

impl From<RunFailure> for RunFailed {
    fn from(failure: RunFailure) -> Self {
        Self { error: failure.error, state: failure.state }
    }
}

impl From<RunError> for RunFailed {
    fn from(error: RunError) -> Self {
        Self { error, state: None }
    }
}

impl From<RunFailed> for RunFailure {
    fn from(failed: RunFailed) -> Self {
        Self::new(failed.error, failed.state)
    }
}

/// A run that continues in the next execution makes the workflow continue as new. A cancelled run
/// cancels the workflow. Any other error becomes an ApplicationFailure of type
/// `AgentsWorkflowError`, whose message is that of the [`RunError`]: agent, turn, model and reason
/// of a failed model call. If an activity has failed, its Temporal failure is the cause, unchanged
/// in type, details and retryability. (A failed tool or guardrail that ends the run has no cause,
/// only its message.) The error never becomes a workflow task that fails and is retried forever.
///
/// # Retries
/// A workflow's own retry policy considers the outermost failure. This is retryable after a failed
/// model call, including one that its worker has not retried: another execution has a conversation
/// of its own. A policy that must not repeat it lists `AgentsWorkflowError`.
impl From<RunFailed> for WorkflowTermination {
    fn from(failed: RunFailed) -> Self {
        termination(failed.error, None)
    }
}

/// Returns the end of a workflow with this error, and with a report as the failure's detail.
pub(in crate::workflow) fn termination(error: RunError, report: Option<AgentReport>) -> WorkflowTermination {
    let failed = |error, cause| application_failure(error, cause, report.clone());
    match error {
        RunError::Cancelled { .. } => WorkflowTermination::cancelled(),
        RunError::ContinuesAsNew { agent, turn, next } => match next.downcast::<NextExecution>() {
            Ok(next) => WorkflowTermination::ContinueAsNew(next.0),
            Err(next) => failed(RunError::ContinuesAsNew { agent, turn, next }, None),
        },
        RunError::Continuation { agent, turn, source } => {
            let (source, cause) = in_words(source);
            failed(RunError::Continuation { agent, turn, source }, cause)
        }
        // Only the reason: the type of the worker's failure is in the cause.
        RunError::Model { agent, turn, model, reason, source } => {
            let cause = cause_of(source);
            let source = reason.clone().into();
            failed(RunError::Model { agent, turn, model, reason, source }, cause)
        }
        RunError::ToolNotRegistered { tool, agent, task_queue, tried_for, source }
            if !source.is::<WorkflowToolError>() =>
        {
            let (source, cause) = in_words(source);
            failed(RunError::ToolNotRegistered { tool, agent, task_queue, tried_for, source }, cause)
        }
        RunError::Session { session, verb, source } => {
            let (source, cause) = in_words(source);
            failed(RunError::Session { session, verb, source }, cause)
        }
        RunError::Function { function, agent, source } => {
            let (source, cause) = in_words(source);
            failed(RunError::Function { function, agent, source }, cause)
        }
        RunError::Mcp { server, agent, turn, source } => {
            let (source, cause) = in_words(source);
            failed(RunError::Mcp { server, agent, turn, source }, cause)
        }
        RunError::Spec { agent, source } if !source.is::<SpecError>() => {
            let (source, cause) = in_words(source);
            failed(RunError::Spec { agent, source }, cause)
        }
        RunError::Tool { tool, agent, turn, source } => {
            let (source, cause) = in_words(source);
            failed(RunError::Tool { tool, agent, turn, source }, cause)
        }
        other => failed(other, None),
    }
}

/// Splits an effect's error into its message, as an error of its own, and the Temporal failure
/// inside it, as a cause.
fn in_words(source: BoxError) -> (BoxError, Option<IncomingError>) {
    (source.to_string().into(), cause_of(source))
}

fn application_failure(
    error: RunError,
    cause: Option<IncomingError>,
    report: Option<AgentReport>,
) -> WorkflowTermination {
    let is_wrong_spec = matches!(&error, RunError::Spec { source, .. } if source.is::<SpecError>());
    let retry_is_useless = is_wrong_spec
        || matches!(
            error,
            RunError::Graph(_)
                | RunError::State(_)
                | RunError::User { .. }
                | RunError::Refused { .. }
                | RunError::Context { .. }
                | RunError::ConversationTooLarge { .. }
        );
    ApplicationFailure::builder(error)
        .type_name(AGENTS_WORKFLOW_ERROR.to_owned())
        .non_retryable(retry_is_useless)
        .maybe_details(report)
        .maybe_cause(cause.map(Box::new))
        .build()
        .into()
}

fn temporal_failure(source: BoxError) -> Result<ActivityExecutionError, BoxError> {
    source.downcast::<EffectFailure>().map(|failure| failure.failure)
}

fn cause_of(source: BoxError) -> Option<IncomingError> {
    let source = match source.downcast::<ConversationLost>() {
        Ok(lost) => lost.source,
        Err(source) => source,
    };
    let failure = temporal_failure(source)
        .or_else(|source| source.downcast::<NoModelActivity>().map(|unserved| unserved.failure));
    match failure {
        Ok(ActivityExecutionError::Failed(failure)) => Some(IncomingError::Activity(failure)),
        Ok(ActivityExecutionError::Cancelled(failure)) => Some(IncomingError::Cancelled(failure)),
        _ => None,
    }
}
