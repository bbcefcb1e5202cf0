//! Tool calls as Nexus operations: JSON in, JSON out, completed at once or by a workflow that takes
//! days.
//!
//! They never fail a workflow task: names and sizes are checked here, endpoints by
//! [`Nexus`](super::super::nexus::Nexus), and the failures of an operation are data. The SDK has no
//! summary for operations; the event itself contains endpoint, service and operation.

use std::{future::poll_fn, iter::successors, rc::Rc, task::Poll, time::Duration};

use futures::FutureExt;
use serde_json::Value;
use temporal_agents_core::{
    drive::{ToolAnswer, ToolEffect, ToolEffectError},
    tool::{NexusCancellation, NexusOperation, WorkflowToolError},
    wire::failure::TOOL_ERROR,
};
use temporalio_workflow::{
    NexusOperationCancellationType, NexusOperationOptions, WorkflowCancellationToken,
    common::protos::temporal::api::{
        enums::v1::TimeoutType,
        failure::v1::{Failure, failure::FailureInfo},
    },
};

use super::foreign::{answer, check, of_run, outcome, read};
use crate::workflow::{
    context::{DurableContext, NexusError},
    effect::{failure::detail_of, time::accepted},
    headers::ScheduledBy,
};

/// The Nexus header with the call's idempotency key.
const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// Calls the operation and awaits its end.
pub(super) async fn call(
    ctx: &Rc<dyn DurableContext>,
    operation: &NexusOperation,
    effect: ToolEffect<'_>,
    id: &str,
    token: &WorkflowCancellationToken,
) -> Result<ToolAnswer, ToolEffectError> {
    let (key, by) = (effect.info.idempotency_key().to_owned(), of_run(ctx, effect.meta, id));
    let returned = run(ctx, operation, Value::Object(effect.arguments), key, by, token).await;
    returned.map_err(|error| outcome(error, token, operation.idempotent)).and_then(|value| answer(ctx, value))
}

async fn run(
    ctx: &Rc<dyn DurableContext>,
    operation: &NexusOperation,
    input: Value,
    idempotency_key: String,
    by: ScheduledBy,
    token: &WorkflowCancellationToken,
) -> Result<Value, WorkflowToolError> {
    let NexusOperation { endpoint, service, operation: name, .. } = operation;
    let what = format!("Nexus operation {name:?} of service {service:?} at endpoint {endpoint:?}");
    check(&what, &input, [endpoint, service, name].into_iter())?;
    let is_abandoned = operation.cancellation == NexusCancellation::Abandoned;
    if is_abandoned && token.is_cancelled() {
        return Err(WorkflowToolError::Cancelled { what });
    }
    let options = NexusOperationOptions::builder()
        .endpoint(endpoint)
        .service(service)
        .operation(name)
        .maybe_schedule_to_close_timeout(operation.schedule_to_close.map(accepted))
        .schedule_to_start_timeout(accepted(operation.schedule_to_start))
        .nexus_header([(IDEMPOTENCY_KEY.to_owned(), idempotency_key)].into_iter().collect())
        .cancellation_type(cancellation_type(operation.cancellation))
        // An abandoned operation does not receive the cancellation; `ended` below stops the wait.
        .cancellation_token(if is_abandoned { WorkflowCancellationToken::new() } else { token.clone() })
        .build();
    let mut calling = ctx.nexus_operation(input, options, by);
    let ended = poll_fn(|cx| match calling.poll_unpin(cx) {
        Poll::Ready(ended) => Poll::Ready(Some(ended)),
        Poll::Pending if is_abandoned && token.is_cancelled() => Poll::Ready(None),
        Poll::Pending => Poll::Pending,
    });
    match ended.await {
        None => Err(WorkflowToolError::Cancelled { what }),
        Some(Ok(returned)) => read(what, returned),
        Some(Err(NexusError::Conversion(error))) => {
            Err(WorkflowToolError::Unreadable { what, reason: error.to_string() })
        }
        Some(Err(NexusError::Failed(failure))) => Err(failed(what, &failure, operation)),
    }
}

fn cancellation_type(cancellation: NexusCancellation) -> NexusOperationCancellationType {
    match cancellation {
        NexusCancellation::Completed | NexusCancellation::Abandoned => {
            NexusOperationCancellationType::WaitCancellationCompleted
        }
        NexusCancellation::Requested => NexusOperationCancellationType::WaitCancellationRequested,
        NexusCancellation::Sent => NexusOperationCancellationType::TryCancel,
    }
}

/// Converts the failure of an operation: the outer failure says that an operation failed, its cause
/// says why.
fn failed(what: String, failure: &Failure, operation: &NexusOperation) -> WorkflowToolError {
    let reason = match (&failure.failure_info, failure.cause.as_deref()) {
        (Some(FailureInfo::NexusOperationExecutionFailureInfo(_)), Some(cause)) => cause,
        _ => failure,
    };
    match &reason.failure_info {
        Some(FailureInfo::CanceledFailureInfo(_)) => WorkflowToolError::Cancelled { what },
        Some(FailureInfo::TimeoutFailureInfo(info)) => {
            WorkflowToolError::TimedOut { what, after: limit(operation, info.timeout_type()) }
        }
        _ => {
            let told = chain(reason).find(|failure| type_of(failure) == Some(TOOL_ERROR));
            let error_type =
                told.or_else(|| chain(reason).find(|failure| type_of(failure).is_some())).and_then(type_of);
            WorkflowToolError::Failed {
                what,
                error_type: error_type.map(str::to_owned),
                message: message(reason),
                detail: told.and_then(detail_of).map(Box::new),
            }
        }
    }
}

fn limit(operation: &NexusOperation, timeout: TimeoutType) -> Option<Duration> {
    match timeout {
        // The server limits this time to the other one.
        TimeoutType::ScheduleToStart => {
            let longest = operation.schedule_to_close.unwrap_or(operation.schedule_to_start);
            Some(operation.schedule_to_start.min(longest))
        }
        TimeoutType::ScheduleToClose => operation.schedule_to_close,
        _ => None,
    }
}

/// Returns a failure and its causes, the outermost first.
fn chain(failure: &Failure) -> impl Iterator<Item = &Failure> {
    successors(Some(failure), |failure| failure.cause.as_deref())
}

/// Returns the type of an application failure.
fn type_of(failure: &Failure) -> Option<&str> {
    match &failure.failure_info {
        Some(FailureInfo::ApplicationFailureInfo(info)) => Some(&*info.r#type).filter(|name| !name.is_empty()),
        _ => None,
    }
}

/// Joins the messages of a failure and its causes, the outermost first; a handler's error is
/// included with its type.
fn message(failure: &Failure) -> String {
    let mut words: Vec<String> = Vec::new();
    for failure in chain(failure) {
        let said = match &failure.failure_info {
            Some(FailureInfo::NexusHandlerFailureInfo(info)) => {
                format!("the handler answered {}: {}", info.r#type, failure.message)
            }
            _ => failure.message.clone(),
        };
        // Skips a message that the one of the enclosing failure already ends with.
        if !said.is_empty() && words.last().is_none_or(|last| !last.ends_with(&said)) {
            words.push(said);
        }
    }
    words.join(": ")
}

#[cfg(test)]
mod tests;
