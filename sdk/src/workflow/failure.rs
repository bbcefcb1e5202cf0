//! From Temporal's failures to the run's, and from the run's to how a workflow ends.
//!
//! # Design
//! The server is told not to retry `NotFoundError`. That is what a worker returns for an activity
//! that it does not have; the server would retry it for ever.

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

use super::continuing::NextExecution;
use crate::{
    drive::RunFailure,
    engine::{ConversationLost, EffectError, RunError},
    tool::WorkflowToolError,
    wire::{AgentReport, decode, failure::AGENTS_WORKFLOW_ERROR},
};

/// The failure type with which a worker answers for an activity it does not have. It is retryable there and would be
/// retried for ever.
pub(super) const NOT_REGISTERED: &str = "NotFoundError";

/// The failure type of a result the server does not take; the effect has happened, and another attempt repeats it.
pub(super) const PAYLOADS_TOO_LARGE: &str = "PayloadsTooLarge";
/// The failure type of an attempt that a worker gave up because it shut down.
pub(super) const WORKER_SHUTDOWN: &str = "WorkerShutdown";
/// Failures that another attempt cannot heal, though the SDK calls them retryable.
pub(super) const NEVER_RETRIED: [&str; 2] = [NOT_REGISTERED, PAYLOADS_TOO_LARGE];

/// A failed activity with a message that says what happened; the Temporal failure is its source.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct EffectFailure {
    message: String,
    #[source]
    failure: ActivityExecutionError,
}

impl EffectFailure {
    pub(super) fn new(failure: ActivityExecutionError) -> Self {
        Self { message: describe(&failure), failure }
    }

    /// With another message, where the Temporal failure itself says less.
    pub(super) fn with_message(message: String, failure: ActivityExecutionError) -> Self {
        Self { message, failure }
    }

    /// The Temporal failure.
    pub fn failure(&self) -> &ActivityExecutionError {
        &self.failure
    }
}

/// A model call that no worker takes. Unlike other failed calls it does not pass as the Temporal failure it is: that one
/// lists activities, and does not say what to do.
#[derive(Debug, thiserror::Error)]
#[error("no worker on task queue {task_queue:?} calls models; install AgentsPlugin with a model provider on it")]
pub(super) struct NoModelActivity {
    pub(super) task_queue: String,
    #[source]
    pub(super) failure: ActivityExecutionError,
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
pub(super) fn message_of(failure: &ActivityExecutionError) -> String {
    reason(failure).map_or_else(|| failure.to_string(), |reason| reason.message.clone())
}

/// The type of the application failure behind a failed activity, where it has one.
pub(super) fn failure_type(failure: &ActivityExecutionError) -> Option<&str> {
    match &reason(failure)?.failure_info {
        Some(FailureInfo::ApplicationFailureInfo(info)) => Some(&*info.r#type).filter(|name| !name.is_empty()),
        _ => None,
    }
}

/// The application failure behind a failed activity, where there is one.
pub(super) fn application(failure: &ActivityExecutionError) -> Option<&ApplicationFailure> {
    match failure.reason() {
        Some(IncomingError::Application(reason)) => Some(reason),
        _ => None,
    }
}

/// The first detail of the application failure behind a failed activity, where it is a text.
pub(super) fn text_detail(failure: &ActivityExecutionError) -> Option<String> {
    detail_of(reason(failure)?)
}

/// The first detail of an application failure, where it is a text.
pub(super) fn detail_of(failure: &Failure) -> Option<String> {
    first_detail(failure)
}

/// What the run of an agent has left in its workflow's failure.
pub(super) fn report_of(failure: &Failure) -> Option<AgentReport> {
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
pub(super) fn timeout_of(failure: &ActivityExecutionError) -> Option<TimeoutType> {
    match &reason(failure)?.failure_info {
        Some(FailureInfo::TimeoutFailureInfo(info)) => TimeoutType::try_from(info.timeout_type).ok(),
        _ => None,
    }
}

/// Whether no worker knows the activity.
pub(super) fn is_not_registered(failure: &ActivityExecutionError) -> bool {
    failure_type(failure) == Some(NOT_REGISTERED)
}

/// How a workflow ends when `?` meets a failed run.
///
/// A run that goes on in the next execution makes the workflow continue as new. A cancelled run is a cancelled workflow. A failed model call passes as the Temporal failure it is, with its cause.
/// Anything else is an ApplicationFailure of type `AgentsWorkflowError`; where an activity has failed, its failure is the cause.
/// (A failed tool or guardrail that ends the run is told in words alone.) Never a workflow task that fails and is retried for ever.
impl From<RunError> for WorkflowTermination {
    fn from(error: RunError) -> Self {
        termination(error, None)
    }
}

/// The same, with a report as the failure's detail. A failed model call with a report is of type `AgentsWorkflowError`, too.
pub(super) fn termination(error: RunError, report: Option<AgentReport>) -> WorkflowTermination {
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
        RunError::Model { agent, turn, model, reason, source } => match temporal_failure(source) {
            // A payload that cannot be converted would fail the workflow task, so it becomes a failure of the run.
            Ok(ActivityExecutionError::Serialization(conversion)) => {
                let source = conversion.into();
                failed(RunError::Model { agent, turn, model, reason, source }, None)
            }
            Ok(failure) if report.is_none() => failure.into(),
            Ok(failure) => {
                let (source, cause) = in_words(Box::new(EffectFailure::new(failure)));
                failed(RunError::Model { agent, turn, model, reason, source }, cause)
            }
            Err(source) => {
                let (source, cause) = in_words(source);
                failed(RunError::Model { agent, turn, model, reason, source }, cause)
            }
        },
        RunError::ToolNotRegistered { tool, agent, task_queue, source } if !source.is::<WorkflowToolError>() => {
            let (source, cause) = in_words(source);
            failed(RunError::ToolNotRegistered { tool, agent, task_queue, source }, cause)
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
