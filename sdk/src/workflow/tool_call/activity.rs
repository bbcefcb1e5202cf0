//! A tool call as an activity of ours.

use std::{rc::Rc, time::Duration};

use temporalio_workflow::{
    ActivityCancellationType, ActivityCloseTimeouts, ActivityExecutionError, ActivityOptions, RetryPolicy,
    WorkflowCancellationToken,
    common::error::{ApplicationFailure, TimeoutError, TimeoutType},
};

use super::super::{
    context::DurableContext,
    failure::{
        EffectFailure, NEVER_RETRIED, PAYLOADS_TOO_LARGE, WORKER_SHUTDOWN, application, is_not_registered, message_of,
    },
    size,
    time::{LONGEST, accepted},
};
use crate::{
    drive::{ToolAnswer, ToolEffect, ToolEffectError},
    tool::{CallInfo, ToolActivityOptions},
    wire::{
        ToolReply, ToolRequest, WIRE_VERSION,
        failure::{MALFORMED_REQUEST, TOOL_ERROR, WIRE_VERSION_MISMATCH},
    },
};

const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Schedules the activity and reads what it returns.
pub(super) async fn call(
    ctx: &Rc<dyn DurableContext>,
    options: &ToolActivityOptions,
    effect: ToolEffect<'_>,
    activity_id: String,
    token: WorkflowCancellationToken,
) -> Result<ToolAnswer, ToolEffectError> {
    let ToolEffect { tool, info, id: _, arguments, context } = effect;
    size::check("what the call is given (arguments and run context)", &(&arguments, &context))
        .map_err(ToolEffectError::Host)?;
    let scheduled = activity_options(options, &info, activity_id, token);
    let task_queue = || options.task_queue.clone().unwrap_or_else(|| ctx.task_queue());
    let CallInfo { tool: name, call_id, agent, turn, attempt: _ } = info;
    let request = ToolRequest { version: WIRE_VERSION, tool: name, agent, turn, call_id, arguments, context };
    match ctx.tool_activity(tool.activity_type(), request, scheduled).await {
        Ok(reply) => {
            let ToolReply { version: _, output, context_patch } =
                reply.read("tool reply").map_err(|error| ToolEffectError::Host(error.into()))?;
            Ok(ToolAnswer { output, context_patch })
        }
        Err(ActivityExecutionError::Cancelled(_)) => Err(ToolEffectError::Cancelled),
        Err(failure) => Err(classify(failure, options, task_queue)),
    }
}

fn classify(
    failure: ActivityExecutionError,
    options: &ToolActivityOptions,
    task_queue: impl FnOnce() -> String,
) -> ToolEffectError {
    if failure.as_cancelled().is_some() {
        return ToolEffectError::Cancelled;
    }
    let reason = application(&failure);
    let type_name = reason.and_then(ApplicationFailure::type_name);
    let is_ours = matches!(type_name, Some(WIRE_VERSION_MISMATCH | MALFORMED_REQUEST));
    if is_ours || matches!(failure, ActivityExecutionError::Serialization(_)) {
        return ToolEffectError::Host(Box::new(EffectFailure::new(failure)));
    }
    if is_not_registered(&failure) {
        let source = Box::new(EffectFailure::new(failure));
        return ToolEffectError::NotRegistered { task_queue: task_queue(), source };
    }
    let timeout = failure.as_timeout().map(TimeoutError::timeout_type);
    let broke_off = timeout.is_some_and(|kind| kind != TimeoutType::ScheduleToStart)
        || matches!(type_name, Some(WORKER_SHUTDOWN | PAYLOADS_TOO_LARGE));
    if broke_off && !options.idempotent {
        return ToolEffectError::OutcomeUnknown { source: Box::new(EffectFailure::new(failure)) };
    }
    if timeout == Some(TimeoutType::StartToClose) {
        let after = options.start_to_close;
        return ToolEffectError::TimedOut { after, source: Box::new(EffectFailure::new(failure)) };
    }
    let tell_model = reason
        .filter(|reason| reason.type_name() == Some(TOOL_ERROR))
        .and_then(|reason| reason.details::<String>().ok().flatten());
    let message = message_of(&failure);
    ToolEffectError::Failed { tell_model, message, source: Box::new(EffectFailure::new(failure)) }
}

fn activity_options(
    options: &ToolActivityOptions,
    info: &CallInfo,
    activity_id: String,
    token: WorkflowCancellationToken,
) -> ActivityOptions {
    let start_to_close = accepted(options.start_to_close);
    let close = match options.schedule_to_close {
        Some(schedule_to_close) => ActivityCloseTimeouts::ScheduleAndStartToClose {
            start_to_close,
            schedule_to_close: accepted(schedule_to_close),
        },
        None => ActivityCloseTimeouts::StartToClose(start_to_close),
    };
    let summary = || format!("{} · {} · turn {}", info.tool, info.agent, info.turn);
    let retry = RetryPolicy::builder()
        .initial_interval(FIRST_PAUSE)
        .maximum_interval(LONGEST_PAUSE)
        .maximum_attempts(options.attempts())
        .non_retryable_error_types(NEVER_RETRIED)
        .build();
    ActivityOptions::with_close_timeouts(close)
        .activity_id(activity_id)
        .maybe_task_queue(options.task_queue.clone())
        .heartbeat_timeout(options.heartbeat.min(LONGEST))
        .cancellation_token(token)
        // A tool touches the world: a cancelled one is waited for, so that the run knows what has happened.
        .cancellation_type(ActivityCancellationType::WaitCancellationCompleted)
        .retry_policy(retry)
        .summary(options.summary.clone().unwrap_or_else(summary))
        .build()
}
