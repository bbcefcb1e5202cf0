//! A session read or written through an activity.

use std::{rc::Rc, time::Duration};

use futures::future::{Either, LocalBoxFuture, select};
use temporalio_workflow::{
    ActivityCloseTimeouts, ActivityExecutionError, ActivityOptions, RetryPolicy, WorkflowCancellationToken,
};

use super::{
    context::{ActivityResult, DurableContext},
    failure::{EffectFailure, NEVER_RETRIED},
};
use crate::{
    drive::{SessionAction, SessionEffect, SessionEffectError},
    engine::EffectError,
    wire::{
        Item, WIRE_VERSION, decode,
        session_call::{SESSION_ACTIVITY, SessionOperation, SessionReply, SessionRequest},
    },
};

const ONE_ATTEMPT: Duration = Duration::from_mins(1);
const ALL_ATTEMPTS: Duration = Duration::from_hours(6);
/// How long a cancelled run still writes.
const LAST_WORDS: Duration = Duration::from_mins(1);

/// Reads or writes a session. Attempts go on for hours: a run does not end because its store is down for a while. A write is
/// not cancelled with the run, but has a minute then.
pub(super) async fn call(
    ctx: &Rc<dyn DurableContext>,
    effect: SessionEffect,
    activity_id: String,
    scope: &WorkflowCancellationToken,
) -> Result<Vec<Item>, SessionEffectError> {
    let SessionEffect { store, session_id, action } = effect;
    let schedule = |verb: &str, operation, token| {
        let times = ActivityCloseTimeouts::ScheduleAndStartToClose {
            start_to_close: ONE_ATTEMPT,
            schedule_to_close: ALL_ATTEMPTS,
        };
        let options = ActivityOptions::with_close_timeouts(times)
            .activity_id(activity_id.clone())
            .cancellation_token(token)
            .retry_policy(RetryPolicy::builder().non_retryable_error_types(NEVER_RETRIED).build())
            .summary(format!("{verb} session {session_id}"))
            .build();
        let request = SessionRequest { version: WIRE_VERSION, session_id: session_id.clone(), operation };
        ctx.session_activity(format!("{SESSION_ACTIVITY}.{store}"), request, options)
    };
    let settled = match action {
        SessionAction::Read { limit } => schedule("read", SessionOperation::Read { limit }, scope.clone()).await,
        SessionAction::Add { items } => {
            let detached = WorkflowCancellationToken::new();
            let operation = SessionOperation::Add { items, key: activity_id.clone() };
            let writing = schedule("add to", operation, detached.clone());
            match select(writing, scope.cancelled()).await {
                Either::Left((settled, _)) => settled,
                Either::Right(((), writing)) => last_words(ctx, writing, &detached).await,
            }
        }
    };
    match settled {
        Ok(reply) => {
            let SessionReply { version: _, items } =
                decode("session reply", reply).map_err(EffectError::from)?;
            Ok(items)
        }
        Err(ActivityExecutionError::Cancelled(_)) => Err(SessionEffectError::Cancelled),
        Err(failure) if failure.as_cancelled().is_some() => Err(SessionEffectError::Cancelled),
        Err(failure) => Err(SessionEffectError::Failed(Box::new(EffectFailure::new(failure)))),
    }
}

/// Awaits a write of a run that is cancelled, for a minute; then gives it up.
async fn last_words(
    ctx: &Rc<dyn DurableContext>,
    writing: LocalBoxFuture<'static, ActivityResult>,
    token: &WorkflowCancellationToken,
) -> ActivityResult {
    let timer = WorkflowCancellationToken::new();
    match select(writing, ctx.pause(LAST_WORDS, timer.clone())).await {
        Either::Left((settled, _)) => {
            timer.cancel();
            settled
        }
        Either::Right(((), writing)) => {
            token.cancel();
            writing.await
        }
    }
}
