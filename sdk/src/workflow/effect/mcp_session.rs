//! Sessions with stateful MCP servers: opened by an activity on the server's task queue, used and
//! closed by activities on the task queue of the one worker that holds them.
//!
//! A worker that is gone takes nothing from its task queue: an activity that waits there for long
//! enough shows that the session is lost.

use std::{rc::Rc, time::Duration};

use temporal_agents_core::{
    drive::{McpEffect, McpEffectError},
    tool::{BoxError, McpServer, ToolActivityOptions},
    wire::{
        WIRE_VERSION,
        failure::{MCP_CALL_BEGAN, MCP_SESSION_LOST},
        mcp_call::{MCP_ACTIVITY, McpOpened, McpOperation, McpRequest, McpSession},
    },
};
use temporalio_workflow::{
    ActivityCloseTimeouts, ActivityExecutionError, ActivityOptions, RetryPolicy, WorkflowCancellationToken,
    common::protos::temporal::api::enums::v1::TimeoutType,
};

use super::{
    failure::{NEVER_RETRIED, WORKER_SHUTDOWN, detail, failure_type, timeout_of},
    mcp_call::{self, Asked},
};
use crate::workflow::context::{DurableContext, McpCall};

/// Disables waiting for a deploy: the task queue of a session's only worker never gets another
/// release.
pub(in crate::workflow) const NO_DEPLOY_WAIT: Option<Duration> = Some(Duration::ZERO);
/// Time that the end of a run waits until the session is closed.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Opens a session.
pub(in crate::workflow) async fn open(
    ctx: &Rc<dyn DurableContext>,
    call: McpEffect<'_>,
    id: String,
    token: WorkflowCancellationToken,
) -> Result<McpSession, McpEffectError> {
    let McpEffect { server, agent, turn, .. } = call;
    let terms = server.session_options().cloned().unwrap_or_default();
    let operation = McpOperation::OpenSession {
        set_up: terms.set_up,
        idle_seconds: terms.idle.as_secs().max(1),
        asks_people: server.allows_elicitation(),
    };
    let summary = format!("session with {} · {agent} · turn {turn}", server.name());
    let opened = mcp_call::ask(ctx, Asked { server, operation, summary, session: None }, id, token).await?;
    let opened: McpOpened = serde_json::from_value(opened)
        .map_err(|error| BoxError::from(format!("the reply to the session request cannot be read: {error}")))?;
    let McpOpened { task_queue, session: id } = opened;
    let (server, argument) = (server.name().to_owned(), server.factory_argument().cloned());
    Ok(McpSession { server, argument, task_queue, id })
}

/// Closes a session, even if the run is cancelled.
pub(in crate::workflow) async fn close(ctx: &Rc<dyn DurableContext>, session: McpSession, id: String) {
    let McpSession { server, argument, task_queue, id: session } = session;
    let times = ActivityCloseTimeouts::ScheduleAndStartToClose {
        start_to_close: CLOSE_TIMEOUT,
        schedule_to_close: CLOSE_TIMEOUT,
    };
    let detached = WorkflowCancellationToken::new();
    let options = ActivityOptions::with_close_timeouts(times)
        .activity_id(id)
        .task_queue(task_queue)
        .cancellation_token(detached.clone())
        .retry_policy(RetryPolicy::builder().maximum_attempts(1).non_retryable_error_types(NEVER_RETRIED).build())
        .summary(format!("end of session with {server}"))
        .build();
    let operation = McpOperation::CloseSession;
    let activity_type = format!("{MCP_ACTIVITY}.{server}.{}", operation.name());
    let request = McpRequest { version: WIRE_VERSION, operation, argument, session: Some(session) };
    // The result does not matter: a worker that is gone has closed the session, and any other
    // worker closes it in time.
    let _ = ctx.mcp_activity(McpCall { activity_type, request }, options).await;
}

/// Returns the options of an activity in a session: it runs on the session's worker, once. A broken
/// connection means that the session is lost, so that there is nothing to retry.
pub(in crate::workflow) fn options(options: &ToolActivityOptions, session: &McpSession) -> ToolActivityOptions {
    ToolActivityOptions {
        task_queue: Some(session.task_queue.clone()),
        schedule_to_close: None,
        attempts: 1,
        local: false,
        ..options.clone()
    }
}

/// Limits the time that the activity waits for the session's worker.
pub(in crate::workflow) fn limit(server: &McpServer, scheduled: &mut ActivityOptions) {
    scheduled.schedule_to_start_timeout = server.session_options().map(|terms| terms.schedule_to_start_timeout);
}

/// Returns `Some` if an activity in a session failed because the session is gone. The value is
/// `true` if the activity had begun.
pub(in crate::workflow) fn lost(failure: &ActivityExecutionError) -> Option<bool> {
    match (timeout_of(failure), failure_type(failure)) {
        (Some(TimeoutType::ScheduleToStart), _) => Some(false),
        (Some(TimeoutType::Heartbeat), _) | (_, Some(WORKER_SHUTDOWN)) => Some(true),
        (_, Some(MCP_SESSION_LOST)) => Some(detail(failure).is_some_and(|detail| detail == MCP_CALL_BEGAN)),
        _ => None,
    }
}
