//! Tool calls as activities of this library.

use std::{rc::Rc, time::Duration};

use temporal_agents_core::{
    drive::{ToolAnswer, ToolEffect, ToolEffectError, warn_of_attempt},
    tool::{CallInfo, ToolActivityOptions, ToolBinding, ToolFailure, ToolFailureKind},
    wire::{
        ToolReply, ToolRequest, WIRE_VERSION,
        digest::Digest,
        failure::{MALFORMED_REQUEST, WIRE_VERSION_MISMATCH},
        tool_error::FailureDetail,
    },
};
use temporalio_workflow::{
    ActivityCancellationType, ActivityCloseTimeouts, ActivityExecutionError, ActivityOptions, LocalActivityOptions,
    RetryPolicy, WorkflowCancellationToken, common::protos::temporal::api::enums::v1::TimeoutType,
};

use crate::workflow::{
    context::DurableContext,
    effect::{
        failure::{
            EffectFailure, NEVER_RETRIED, PAYLOADS_TOO_LARGE, WORKER_SHUTDOWN, detail, failure_type, is_not_registered,
            lost_attempt, message_of, timeout_of,
        },
        mcp_session,
        time::{LONGEST, accepted},
        until_deployed::{Answered, Requirement, Unanswered, Wanted, with_activity_id},
    },
    limits::size,
};

const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Schedules the activity and reads its reply; also returns the id under which the activity was
/// scheduled last. `schema` identifies the version of a tool with several versions.
pub(super) async fn call(
    ctx: &Rc<dyn DurableContext>,
    options: &ToolActivityOptions,
    effect: ToolEffect<'_>,
    activity_id: String,
    token: WorkflowCancellationToken,
    schema: Option<Digest>,
) -> Result<(ToolAnswer, String), ToolEffectError> {
    let ToolEffect {
        tool,
        info,
        id: _,
        arguments,
        context,
        mcp,
        mcp_session: session,
        remote,
        meta: _,
        fails_run: _,
        untrusted: _,
        gates: _,
        user: _,
        trace: _,
    } = effect;
    match (&mcp, &remote) {
        (None, None) => size::check("the input of the call (arguments and run context)", &(&arguments, &context)),
        (None, Some(target)) => size::check("the input of the call (arguments and target)", &(&arguments, target)),
        (Some(target), _) => size::check("the input of the call (arguments and _meta)", &(&arguments, target)),
    }
    .map_err(ToolEffectError::Host)?;
    let task_queue = || options.task_queue.clone().unwrap_or_else(|| ctx.task_queue());
    let summary = summary_of(&info);
    let idempotency_key = Some(info.idempotency_key().to_owned());
    // A remote target has these.
    let (session_id, parent_call) = if remote.is_some() { (None, None) } else { info.session_and_parent() };
    let CallInfo { tool: name, call_id, agent, turn, .. } = info;
    let request = ToolRequest {
        version: WIRE_VERSION,
        tool: name,
        agent,
        turn,
        call_id,
        arguments,
        context,
        settings: tool.settings().clone(),
        idempotency_key,
        mcp,
        remote,
        schema,
        session_id,
        parent_call,
    };
    let what = match tool.binding() {
        ToolBinding::Mcp(binding) => Requirement::McpServer(binding.server().name()),
        ToolBinding::Remote(binding) => Requirement::Transport(binding.transport()),
        _ => Requirement::Tool(tool.name()),
    };
    let longest = if session.is_some() { mcp_session::NO_DEPLOY_WAIT } else { options.schedule_to_close };
    let wanted = Wanted { ctx, id: &activity_id, what, longest, token: &token };
    let replying = if options.local {
        let local = local_options(options, summary, &activity_id, token.clone());
        let schedule = |id| {
            let mut options = local.clone();
            options.activity_id = Some(id);
            ctx.local_tool_activity(tool.activity_type(), request.clone(), options)
        };
        wanted.answer(schedule).await
    } else {
        let mut scheduled = activity_options(options, || summary, &activity_id, token.clone());
        if let (Some(_), ToolBinding::Mcp(binding)) = (&session, tool.binding()) {
            mcp_session::limit(binding.server(), &mut scheduled);
        }
        let schedule = |id| ctx.tool_activity(tool.activity_type(), request.clone(), with_activity_id(&scheduled, id));
        wanted.answer(schedule).await
    };
    match replying {
        Ok(Answered { result, activity_id }) => {
            let ToolReply { version: _, output, context_patch, side_data, question } =
                result.read("tool reply").map_err(|error| ToolEffectError::Host(error.into()))?;
            Ok((ToolAnswer { context_patch, side_data, question, ..ToolAnswer::new(output) }, activity_id))
        }
        Err(Unanswered::Cancelled) => Err(ToolEffectError::Cancelled),
        Err(Unanswered::Failed(failure, _)) if session.is_some() && mcp_session::lost(&failure).is_some() => {
            let began = mcp_session::lost(&failure) == Some(true);
            Err(ToolEffectError::SessionLost { began, source: Box::new(EffectFailure::new(failure)) })
        }
        Err(Unanswered::Failed(failure, tried_for)) => {
            // Attempts at a remote call do not repeat it, so its options allow several.
            let idempotent = match tool.binding() {
                ToolBinding::Remote(binding) => binding.is_idempotent(),
                _ => options.idempotent,
            };
            if let Some(reason) = lost_attempt(&failure).filter(|_| !ctx.is_replaying()) {
                let ToolRequest { tool, call_id, agent, turn, .. } = request;
                warn_of_attempt(
                    &CallInfo::new(tool, call_id, agent, turn).at_attempt(options.attempts()),
                    None,
                    &reason,
                );
            }
            let options = ToolActivityOptions { idempotent, ..options.clone() };
            Err(classify(failure, tried_for, tool.name(), &options, task_queue))
        }
    }
}

fn classify(
    failure: ActivityExecutionError,
    tried_for: Option<Duration>,
    tool: &str,
    options: &ToolActivityOptions,
    task_queue: impl FnOnce() -> String,
) -> ToolEffectError {
    let type_name = failure_type(&failure);
    let is_ours = matches!(type_name, Some(WIRE_VERSION_MISMATCH | MALFORMED_REQUEST));
    if is_ours || matches!(failure, ActivityExecutionError::Serialization(_)) {
        return ToolEffectError::Host(Box::new(EffectFailure::after(failure, tried_for)));
    }
    if is_not_registered(&failure) {
        let source = Box::new(EffectFailure::new(failure));
        return ToolEffectError::NotRegistered { task_queue: task_queue(), tried_for, source };
    }
    ToolEffectError::failed(failure_of(&failure, tool, options), EffectFailure::new(failure))
}

/// Returns the failure of a call whose activity has failed so.
pub(super) fn failure_of(failure: &ActivityExecutionError, tool: &str, options: &ToolActivityOptions) -> ToolFailure {
    let (type_name, timeout) = (failure_type(failure), timeout_of(failure));
    // The attempt may have had an effect, unless it timed out before it started.
    let broke_off =
        timeout.is_some_and(|kind| kind != TimeoutType::ScheduleToStart) || type_name == Some(WORKER_SHUTDOWN);
    let exceeded = match timeout {
        Some(TimeoutType::StartToClose) => Some(shortest(options)),
        Some(TimeoutType::ScheduleToClose) => options.schedule_to_close,
        _ => None,
    };
    if broke_off && !options.idempotent {
        ToolFailure::new(ToolFailureKind::OutcomeUnknown, message_of(failure))
    } else if let Some(time_limit) = exceeded {
        ToolFailure::timed_out(time_limit, message_of(failure))
    } else if type_name == Some(PAYLOADS_TOO_LARGE) {
        // The SDK may detect this where the worker did not: with a codec that makes payloads
        // larger, for example.
        ToolFailure::new(ToolFailureKind::Oversized, format!("tool {tool:?} returned more than the server takes"))
    } else {
        ToolFailure::of_activity(type_name, message_of(failure), FailureDetail::read(detail(failure)))
    }
}

/// Returns the maximum time of one attempt, which the server limits to that of all attempts.
pub(super) fn shortest(options: &ToolActivityOptions) -> Duration {
    options.schedule_to_close.map_or(options.start_to_close, |all| all.min(options.start_to_close))
}

/// Returns the options of an activity that is scheduled like that of a tool.
pub(in crate::workflow) fn activity_options(
    options: &ToolActivityOptions,
    summary: impl FnOnce() -> String,
    activity_id: &str,
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
    ActivityOptions::with_close_timeouts(close)
        .activity_id(activity_id)
        .maybe_task_queue(options.task_queue.clone())
        .heartbeat_timeout(options.heartbeat.min(LONGEST))
        .cancellation_token(token)
        // Tools have side effects: a cancelled tool is awaited, so that the run knows the outcome.
        .cancellation_type(ActivityCancellationType::WaitCancellationCompleted)
        .retry_policy(retry_policy(options.attempts(), NEVER_RETRIED))
        .summary(options.summary.clone().unwrap_or_else(summary))
        .build()
}

fn local_options(
    options: &ToolActivityOptions,
    summary: String,
    activity_id: &str,
    token: WorkflowCancellationToken,
) -> LocalActivityOptions {
    LocalActivityOptions::builder()
        .activity_id(activity_id.to_owned())
        .start_to_close_timeout(accepted(options.start_to_close))
        // Without this timeout the SDK sets 100 s.
        .schedule_to_close_timeout(options.schedule_to_close.map_or(LONGEST, accepted))
        .cancellation_token(token)
        .cancel_type(ActivityCancellationType::WaitCancellationCompleted)
        .retry_policy(retry_policy(options.attempts(), NEVER_RETRIED))
        .summary(options.summary.clone().unwrap_or(summary))
        .build()
}

/// Returns the retry policy for failed attempts; failures of the types `never_retried` are not
/// retried.
pub(in crate::workflow) fn retry_policy(
    attempts: u32,
    never_retried: impl IntoIterator<Item = &'static str>,
) -> RetryPolicy {
    RetryPolicy::builder()
        .initial_interval(FIRST_PAUSE)
        .maximum_interval(LONGEST_PAUSE)
        .maximum_attempts(attempts)
        .non_retryable_error_types(never_retried)
        .build()
}

/// Returns the summary that the Temporal UI shows for a call.
pub(super) fn summary_of(info: &CallInfo) -> String {
    format!("{} · {} · turn {}", info.tool, info.agent, info.turn)
}
