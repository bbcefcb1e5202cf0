//! From Temporal's failures to the run's, and from the run's to how a workflow ends.
//!
//! # Design
//! The server is told not to retry `NotFoundError`. That is what a worker returns for an activity
//! that it does not have; the server would retry it for ever.
//!
//! **The outer failure of a failed model call is retryable for a workflow's own retry policy,** as
//! the activity's failure was. The classification of the call is in the cause.

use std::time::Duration;

use serde::de::DeserializeOwned;
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
use crate::{
    drive::RunFailure,
    engine::{ConversationLost, EffectError, RunError, TriedFor},
    tool::WorkflowToolError,
    wire::{AgentReport, decode, failure::AGENTS_WORKFLOW_ERROR},
};

/// The failure type with which a worker answers for an activity it does not have. It is retryable there and would be
/// retried for ever; `until_deployed.rs` schedules such an activity again.
pub(in crate::workflow) const NOT_REGISTERED: &str = "NotFoundError";

/// The same of a worker of the Go SDK.
pub(in crate::workflow) const NOT_REGISTERED_IN_GO: &str = "ActivityNotRegisteredError";

/// The failure type of a result the server does not take; the effect has happened, and another attempt repeats it.
pub(in crate::workflow) const PAYLOADS_TOO_LARGE: &str = "PayloadsTooLarge";
/// The failure type of an attempt that a worker gave up because it shut down.
pub(in crate::workflow) const WORKER_SHUTDOWN: &str = "WorkerShutdown";
/// Failures that another attempt cannot heal, though the SDK calls them retryable.
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

    /// After a worker was waited for so long, which the message says.
    pub(in crate::workflow) fn after(failure: ActivityExecutionError, tried_for: Option<Duration>) -> Self {
        Self { message: format!("{}{}", describe(&failure), TriedFor(tried_for)), failure }
    }

    /// With another message, where the Temporal failure itself says less.
    pub(in crate::workflow) fn with_message(message: String, failure: ActivityExecutionError) -> Self {
        Self { message, failure }
    }

    /// The Temporal failure.
    pub fn failure(&self) -> &ActivityExecutionError {
        &self.failure
    }
}

/// A model call that no worker takes. The Temporal failure lists activities, and does not say what to do.
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

/// The innermost words: an activity failure itself only says that an activity failed.
fn describe(failure: &ActivityExecutionError) -> String {
    match (reason(failure), failure_type(failure)) {
        (Some(reason), Some(type_name)) => format!("{type_name}: {}", reason.message),
        (Some(reason), None) => reason.message.clone(),
        (None, _) => failure.to_string(),
    }
}

/// What a failed activity failed with. A local activity has no failure of its own around that, so that the SDK's
/// `ActivityExecutionError::reason` is empty for it.
fn reason(failure: &ActivityExecutionError) -> Option<&Failure> {
    let outer = failure.failure()?;
    match outer.failure_info {
        Some(FailureInfo::ActivityFailureInfo(_)) => outer.cause.as_deref(),
        _ => Some(outer),
    }
}

/// The innermost message alone.
pub(in crate::workflow) fn message_of(failure: &ActivityExecutionError) -> String {
    reason(failure).map_or_else(|| failure.to_string(), |reason| reason.message.clone())
}

/// The type of the application failure behind a failed activity, where it has one.
pub(in crate::workflow) fn failure_type(failure: &ActivityExecutionError) -> Option<&str> {
    match &reason(failure)?.failure_info {
        Some(FailureInfo::ApplicationFailureInfo(info)) => Some(&*info.r#type).filter(|name| !name.is_empty()),
        _ => None,
    }
}

/// The application failure behind a failed activity, where there is one.
pub(in crate::workflow) fn application(failure: &ActivityExecutionError) -> Option<&ApplicationFailure> {
    match failure.reason() {
        Some(IncomingError::Application(reason)) => Some(reason),
        _ => None,
    }
}

/// The first detail of the application failure behind a failed activity, where it is a text.
pub(in crate::workflow) fn text_detail(failure: &ActivityExecutionError) -> Option<String> {
    detail_of(reason(failure)?)
}

/// The first detail of an application failure, where it is a text.
pub(in crate::workflow) fn detail_of(failure: &Failure) -> Option<String> {
    first_detail(failure)
}

/// What the run of an agent has left in its workflow's failure.
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

/// Which time a failed activity has exceeded, where that is why it failed.
pub(in crate::workflow) fn timeout_of(failure: &ActivityExecutionError) -> Option<TimeoutType> {
    match &reason(failure)?.failure_info {
        Some(FailureInfo::TimeoutFailureInfo(info)) => TimeoutType::try_from(info.timeout_type).ok(),
        _ => None,
    }
}

/// Whether the application failure behind a failed activity says that no other attempt heals it.
pub(in crate::workflow) fn is_non_retryable(failure: &ActivityExecutionError) -> bool {
    matches!(
        reason(failure).and_then(|reason| reason.failure_info.as_ref()),
        Some(FailureInfo::ApplicationFailureInfo(info)) if info.non_retryable
    )
}

/// Whether no worker knows the activity.
pub(in crate::workflow) fn is_not_registered(failure: &ActivityExecutionError) -> bool {
    failure_type(failure) == Some(NOT_REGISTERED)
}

/// How a workflow ends when `?` meets a failed run.
///
/// A run that continues in the next execution makes the workflow continue as new. A cancelled run is a cancelled workflow. Anything else is
/// an ApplicationFailure of type `AgentsWorkflowError`, whose message is that of the [`RunError`]: agent, turn, model and reason of a failed
/// model call. Where an activity has failed, its Temporal failure is the cause, unchanged in type, details and retryability. (A failed
/// tool or guardrail that ends the run has no cause, only its message.) Never a workflow task that fails and is retried for ever.
///
/// # Retries
/// A workflow's own retry policy sees the outermost failure. It is retryable after a failed model call, also one that its worker has not
/// retried: another execution is a conversation of its own. A policy that is not to repeat it lists `AgentsWorkflowError`.
impl From<RunError> for WorkflowTermination {
    fn from(error: RunError) -> Self {
        termination(error, None)
    }
}

/// Ends a workflow with this error, and with a report as the failure's detail.
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
        // The reason alone: the type of what the worker failed with stands in the cause.
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
        RunError::Tool { tool, agent, turn, source } => {
            let (source, cause) = in_words(source);
            failed(RunError::Tool { tool, agent, turn, source }, cause)
        }
        other => failed(other, None),
    }
}

/// What an effect failed with as words, and the Temporal failure in it as a cause.
fn in_words(source: EffectError) -> (EffectError, Option<IncomingError>) {
    (source.to_string().into(), cause_of(source))
}

impl From<RunFailure> for WorkflowTermination {
    fn from(failure: RunFailure) -> Self {
        failure.error.into()
    }
}

fn application_failure(
    error: RunError,
    cause: Option<IncomingError>,
    report: Option<AgentReport>,
) -> WorkflowTermination {
    let retry_is_useless = matches!(
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

fn temporal_failure(source: EffectError) -> Result<ActivityExecutionError, EffectError> {
    source.downcast::<EffectFailure>().map(|failure| failure.failure)
}

fn cause_of(source: EffectError) -> Option<IncomingError> {
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
