//! Activities and child workflows that do not belong to this library: JSON in, JSON out, identified
//! by their type. A result may have data beside its output, as MCP servers send it in `_meta`:
//! `{"output": .., "temporal-agents/side-data": {"server_data": [..], "bounds": {..}}}`.
//!
//! They never fail a workflow task: input that the server would refuse is refused here first, and
//! their failures are data.

use std::{rc::Rc, time::Duration};

use serde_json::{Map, Value};
use temporal_agents_core::{
    drive::{ToolAnswer, ToolEffect, ToolEffectError, guard::guarded},
    engine::TriedFor,
    tool::{ChildId, ChildWorkflow, RemoteActivity, ToolFailure, ToolFailureKind, WorkflowToolError, text_of},
    wire::{AgentReport, SideData, tool_call_meta::ToolCallMeta, tool_error::FailureDetail},
};
use temporalio_workflow::{
    ActivityCancellationType, ActivityCloseTimeouts, ActivityExecutionError, ActivityOptions, ChildWorkflowOptions,
    StartChildWorkflowExecutionFailedCause, WorkflowCancellationToken,
    common::{
        error::{ChildWorkflowExecutionError, ChildWorkflowStartError, IncomingError},
        protos::temporal::api::{enums::v1::TimeoutType, failure::v1::failure::FailureInfo},
    },
};

use super::activity::{retry_policy, summary_of};
use crate::workflow::{
    context::{ChildWorkflowError, DurableContext},
    effect::{
        failure::{
            NEVER_RETRIED, NOT_REGISTERED_IN_GO, PAYLOADS_TOO_LARGE, WORKER_SHUTDOWN, detail, detail_of, failure_type,
            is_not_registered, message_of, report_of, timeout_of,
        },
        json::Foreign,
        time::{LONGEST, accepted},
        until_deployed::{Requirement, Unanswered, Wanted, with_activity_id},
    },
    headers::ScheduledBy,
    limits::size::{MOST_BYTES, encoded_len},
};

/// The patch of runs that read the data beside an output from results of others.
const SIDE_DATA_READ: &str = "temporal-agents/foreign-side-data-read";

/// Name of the member that is the whole output of a result with data beside it.
const OUTPUT: &str = "output";

/// Maximum bytes of a name, id or task queue that a server accepts by default.
const LONGEST_NAME: usize = 1000;

/// Makes a tool call as an activity.
pub(super) async fn call_activity(
    ctx: &Rc<dyn DurableContext>,
    remote: &RemoteActivity,
    effect: ToolEffect<'_>,
    id: &str,
    token: &WorkflowCancellationToken,
) -> Result<ToolAnswer, ToolEffectError> {
    let (id, summary, by) = (id.to_owned(), summary_of(&effect.info), of_run(ctx, effect.meta, id));
    let input = Value::Object(effect.arguments);
    let returned = activity(ctx, remote, input, At { id, summary, token: token.clone(), by }).await;
    returned.map_err(|error| outcome(error, token, remote.idempotent)).and_then(|value| answer(ctx, value))
}

/// Makes a tool call as a child workflow.
pub(super) async fn call_child(
    ctx: &Rc<dyn DurableContext>,
    child: &ChildWorkflow,
    effect: ToolEffect<'_>,
    id: &str,
    token: &WorkflowCancellationToken,
) -> Result<ToolAnswer, ToolEffectError> {
    let (summary, by) = (summary_of(&effect.info), of_run(ctx, effect.meta, id));
    let id = child_id(ctx, child, &effect.arguments, id).map_err(|error| outcome(error, token, true))?;
    let input = Value::Object(effect.arguments);
    let returned = child_workflow(ctx, child, input, At { id, summary, token: token.clone(), by }).await;
    returned.map_err(|error| outcome(error, token, true)).and_then(|value| answer(ctx, value))
}

/// Converts a result to the output that a model receives, and the data beside it.
pub(super) fn answer(ctx: &Rc<dyn DurableContext>, mut result: Value) -> Result<ToolAnswer, ToolEffectError> {
    let side_data = beside(ctx, &mut result);
    let text = text_of(&result).map_err(|error| ToolEffectError::Host(error.to_string().into()))?;
    Ok(ToolAnswer { side_data, ..ToolAnswer::new(text.into()) })
}

/// Takes the data beside the output out of a result, and leaves the output: the only other member,
/// if that is `output`, otherwise the object without the data. Data that cannot be read is logged.
fn beside(ctx: &Rc<dyn DurableContext>, result: &mut Value) -> Option<Box<SideData>> {
    if !SideData::is_in(result) || !ctx.patched(SIDE_DATA_READ) {
        return None;
    }
    let members = result.as_object_mut()?;
    let data = SideData::take_from(members).unwrap_or_else(|error| {
        if !ctx.is_replaying() {
            tracing::warn!(%error, "the data beside the output of a tool cannot be read");
        }
        None
    });
    if let (1, Some(output)) = (members.len(), members.get_mut(OUTPUT)) {
        *result = output.take();
    }
    data.and_then(SideData::into_member)
}

/// Returns the run, session and turn of a call in this workflow.
pub(super) fn of_run(ctx: &Rc<dyn DurableContext>, meta: ToolCallMeta, effect: &str) -> ScheduledBy {
    ScheduledBy { meta: ToolCallMeta { run_id: ctx.workflow_id(), ..meta }, effect: effect.to_owned() }
}

/// The id of something that is started, its summary in the Temporal UI, the token that cancels it,
/// and the call that starts it.
pub(super) struct At {
    pub(super) id: String,
    pub(super) summary: String,
    pub(super) token: WorkflowCancellationToken,
    pub(super) by: ScheduledBy,
}

/// Calls an activity.
pub(super) async fn activity(
    ctx: &Rc<dyn DurableContext>,
    remote: &RemoteActivity,
    input: Value,
    at: At,
) -> Result<Value, WorkflowToolError> {
    let what = format!("activity {:?}", remote.activity_type);
    let names = [Some(&remote.activity_type), remote.task_queue.as_ref()];
    check(&what, &input, names.into_iter().flatten())?;
    let start_to_close = accepted(remote.start_to_close);
    let close = match remote.schedule_to_close {
        Some(longest) => {
            ActivityCloseTimeouts::ScheduleAndStartToClose { start_to_close, schedule_to_close: accepted(longest) }
        }
        None => ActivityCloseTimeouts::StartToClose(start_to_close),
    };
    let never_retried = NEVER_RETRIED.into_iter().chain([NOT_REGISTERED_IN_GO]);
    let options = ActivityOptions::with_close_timeouts(close)
        .activity_id(&*at.id)
        .maybe_task_queue(remote.task_queue.clone())
        .schedule_to_start_timeout(accepted(remote.schedule_to_start))
        .maybe_heartbeat_timeout(remote.heartbeat.map(|longest| longest.min(LONGEST)))
        .cancellation_token(at.token.clone())
        .cancellation_type(ActivityCancellationType::WaitCancellationCompleted)
        .retry_policy(retry_policy(remote.attempts_in_all(), never_retried))
        .summary(remote.summary.clone().unwrap_or(at.summary))
        .build();
    let needed = Requirement::Remote(&remote.activity_type);
    let wanted = Wanted { ctx, id: &at.id, what: needed, longest: remote.schedule_to_close, token: &at.token };
    let schedule = |id| {
        let options = with_activity_id(&options, id);
        ctx.foreign_activity(remote.activity_type.clone(), input.clone(), options, at.by.clone())
    };
    match wanted.answer(schedule).await {
        Ok(answered) => read(what, answered.result),
        Err(Unanswered::Cancelled) => Err(WorkflowToolError::Cancelled { what }),
        Err(Unanswered::Failed(failure, tried_for)) => {
            let task_queue = || remote.task_queue.clone().unwrap_or_else(|| ctx.task_queue());
            Err(of_activity(what, &failure, TriedFor(tried_for), remote, task_queue))
        }
    }
}

fn of_activity(
    what: String,
    failure: &ActivityExecutionError,
    tried_for: TriedFor,
    remote: &RemoteActivity,
    task_queue: impl FnOnce() -> String,
) -> WorkflowToolError {
    if let ActivityExecutionError::Serialization(conversion) = failure {
        return WorkflowToolError::Unreadable { what, reason: conversion.to_string() };
    }
    let message = message_of(failure);
    let error_type = failure_type(failure).map(str::to_owned);
    if is_not_registered(failure) || error_type.as_deref() == Some(NOT_REGISTERED_IN_GO) {
        let reason = format!("{message}{tried_for}");
        return WorkflowToolError::NotRegistered { what, task_queue: task_queue(), reason };
    }
    match timeout_of(failure) {
        Some(TimeoutType::ScheduleToStart) => {
            let reason = format!("none has taken it within {} s", remote.schedule_to_start.as_secs_f64());
            WorkflowToolError::NotRegistered { what, task_queue: task_queue(), reason }
        }
        Some(TimeoutType::StartToClose) => WorkflowToolError::TimedOut { what, after: Some(remote.start_to_close) },
        Some(_) => WorkflowToolError::TimedOut { what, after: None },
        None => WorkflowToolError::Failed { what, error_type, message, detail: detail(failure).map(Box::new) },
    }
}

/// Starts a child workflow and awaits its end.
pub(super) async fn child_workflow(
    ctx: &Rc<dyn DurableContext>,
    child: &ChildWorkflow,
    input: Value,
    at: At,
) -> Result<Value, WorkflowToolError> {
    child_with_report(ctx, child, input, at).await.map_err(|(error, _)| error)
}

/// Starts a child workflow and awaits its end. If the workflow fails, also returns the report in
/// its failure.
pub(super) async fn child_with_report(
    ctx: &Rc<dyn DurableContext>,
    child: &ChildWorkflow,
    input: Value,
    at: At,
) -> Result<Value, (WorkflowToolError, Option<AgentReport>)> {
    let without = |error| (error, None);
    let what = format!("child workflow {:?}", child.workflow_type);
    let names = [Some(&child.workflow_type), child.task_queue.as_ref(), Some(&at.id)];
    check(&what, &input, names.into_iter().flatten()).map_err(without)?;
    let options = ChildWorkflowOptions::builder()
        .workflow_id(at.id)
        .maybe_task_queue(child.task_queue.clone())
        .parent_close_policy(match child.parent_close_policy {
            temporal_agents_core::tool::ParentClosePolicy::Terminate => {
                temporalio_workflow::ParentClosePolicy::Terminate
            }
            temporal_agents_core::tool::ParentClosePolicy::RequestCancel => {
                temporalio_workflow::ParentClosePolicy::RequestCancel
            }
            temporal_agents_core::tool::ParentClosePolicy::Abandon => temporalio_workflow::ParentClosePolicy::Abandon,
        })
        .maybe_execution_timeout(child.execution_timeout.map(accepted))
        .cancellation_token(at.token)
        .static_summary(child.summary.clone().unwrap_or(at.summary))
        .build();
    match ctx.child_workflow(child.workflow_type.clone(), input, options, at.by).await {
        Ok(returned) => read(what, returned).map_err(without),
        Err(ChildWorkflowError::NotStarted(error)) => Err(without(not_started(what, error))),
        Err(ChildWorkflowError::Ended(error)) => {
            let report = error.reason().and_then(|reason| report_of(reason.failure()));
            Err((ended(what, &error, child.execution_timeout), report))
        }
    }
}

fn not_started(what: String, error: ChildWorkflowStartError) -> WorkflowToolError {
    match error {
        ChildWorkflowStartError::Cancelled(_) => WorkflowToolError::Cancelled { what },
        ChildWorkflowStartError::StartFailed {
            workflow_id: id,
            cause: StartChildWorkflowExecutionFailedCause::WorkflowAlreadyExists,
            ..
        } => WorkflowToolError::AlreadyRuns { what, id },
        error => WorkflowToolError::Refused { what, reason: error.to_string() },
    }
}

fn ended(what: String, error: &ChildWorkflowExecutionError, limit: Option<Duration>) -> WorkflowToolError {
    if error.as_cancelled().is_some() {
        return WorkflowToolError::Cancelled { what };
    }
    if error.as_timeout().is_some() {
        return WorkflowToolError::TimedOut { what, after: limit };
    }
    match (error, error.reason().map(IncomingError::failure)) {
        (ChildWorkflowExecutionError::Serialization(conversion), _) => {
            WorkflowToolError::Unreadable { what, reason: conversion.to_string() }
        }
        (_, Some(failure)) => {
            let error_type = match &failure.failure_info {
                Some(FailureInfo::ApplicationFailureInfo(info)) if !info.r#type.is_empty() => Some(info.r#type.clone()),
                _ => None,
            };
            let message = failure.message.clone();
            WorkflowToolError::Failed { what, error_type, message, detail: detail_of(failure).map(Box::new) }
        }
        (_, None) => {
            let message = error.to_string();
            WorkflowToolError::Failed { what, error_type: None, message, detail: None }
        }
    }
}

/// Returns the workflow id of a child. `unique`, from which the id may be derived, is unique in the
/// workflow.
pub(super) fn child_id(
    ctx: &Rc<dyn DurableContext>,
    child: &ChildWorkflow,
    arguments: &Map<String, Value>,
    unique: &str,
) -> Result<String, WorkflowToolError> {
    match &child.id {
        ChildId::Derived => Ok(format!("{}/{unique}", ctx.workflow_id())),
        ChildId::Fixed(id) => Ok(id.clone()),
        ChildId::Computed(compute) => guarded(|| compute(arguments)).map_err(|panic| WorkflowToolError::Refused {
            what: format!("child workflow {:?}", child.workflow_type),
            reason: format!("the function that makes its id: {panic}"),
        }),
    }
}

/// Refuses input that the server would refuse: the workflow task that requests it would be retried
/// forever.
pub(super) fn check<'n>(
    what: &str,
    input: &Value,
    names: impl Iterator<Item = &'n String>,
) -> Result<(), WorkflowToolError> {
    let refused = |reason: String| WorkflowToolError::Refused { what: what.to_owned(), reason };
    for name in names {
        if name.is_empty() || name.len() > LONGEST_NAME {
            let bytes = name.len();
            return Err(refused(format!(
                "a type, id or task queue has 1 to {LONGEST_NAME} bytes, and one has {bytes}"
            )));
        }
    }
    let bytes = encoded_len(input).map_err(|error| refused(error.to_string()))?;
    if bytes > MOST_BYTES {
        return Err(refused(format!("its input is {bytes} bytes of JSON, the limit is {MOST_BYTES}")));
    }
    Ok(())
}

pub(super) fn read(what: String, returned: Foreign) -> Result<Value, WorkflowToolError> {
    returned.into_value().map_err(|error| WorkflowToolError::Unreadable { what, reason: error.to_string() })
}

/// Converts an error to the outcome of the call for the run.
pub(super) fn outcome(
    error: WorkflowToolError,
    token: &WorkflowCancellationToken,
    idempotent: bool,
) -> ToolEffectError {
    // The call may have had an effect, although it has no usable result.
    let broke_off = match &error {
        WorkflowToolError::TimedOut { .. } | WorkflowToolError::Unreadable { .. } => true,
        WorkflowToolError::Failed { error_type: Some(kind), .. } => {
            [WORKER_SHUTDOWN, PAYLOADS_TOO_LARGE].contains(&&**kind)
        }
        _ => false,
    };
    if broke_off && !idempotent {
        return ToolEffectError::failed(ToolFailure::new(ToolFailureKind::OutcomeUnknown, error.to_string()), error);
    }
    let message = error.to_string();
    let failure = match error {
        WorkflowToolError::Cancelled { .. } if token.is_cancelled() => return ToolEffectError::Cancelled,
        WorkflowToolError::NotRegistered { ref task_queue, .. } => {
            // The message of the error already says for how long the call was tried.
            let task_queue = task_queue.clone();
            return ToolEffectError::NotRegistered { task_queue, tried_for: None, source: Box::new(error) };
        }
        WorkflowToolError::TimedOut { after: Some(after), .. } => ToolFailure::timed_out(after, message),
        WorkflowToolError::Failed { ref error_type, ref detail, .. } => {
            ToolFailure::of_error(error_type.as_deref(), message, FailureDetail::read(detail.as_deref().cloned()))
        }
        _ => ToolFailure::new(ToolFailureKind::Failed, message),
    };
    ToolEffectError::failed(failure, error)
}
