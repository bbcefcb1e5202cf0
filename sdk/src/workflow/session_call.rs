//! A session read or written through an activity.

use std::{rc::Rc, time::Duration};

use temporalio_workflow::{ActivityCloseTimeouts, ActivityOptions, RetryPolicy, WorkflowCancellationToken};

use super::{
    context::DurableContext,
    failure::{EffectFailure, NEVER_RETRIED},
};
use crate::{
    drive::{SessionAction, SessionEffect},
    engine::EffectError,
    wire::{
        Item, WIRE_VERSION, decode,
        session_call::{SESSION_ACTIVITY, SessionOperation, SessionReply, SessionRequest},
    },
};

const ONE_ATTEMPT: Duration = Duration::from_mins(1);
const ALL_ATTEMPTS: Duration = Duration::from_hours(6);

/// Reads or writes a session. Attempts go on for hours: a run does not end because its store is down for a while.
pub(super) async fn call(
    ctx: &Rc<dyn DurableContext>,
    effect: SessionEffect,
    activity_id: String,
    key: String,
    token: WorkflowCancellationToken,
) -> Result<Vec<Item>, EffectError> {
    let SessionEffect { store, session_id, action } = effect;
    let (verb, operation) = match action {
        SessionAction::Read { limit } => ("read", SessionOperation::Read { limit }),
        SessionAction::Add { items } => ("add to", SessionOperation::Add { items, key }),
    };
    let times =
        ActivityCloseTimeouts::ScheduleAndStartToClose { start_to_close: ONE_ATTEMPT, schedule_to_close: ALL_ATTEMPTS };
    let options = ActivityOptions::with_close_timeouts(times)
        .activity_id(activity_id)
        .cancellation_token(token)
        .retry_policy(RetryPolicy::builder().non_retryable_error_types(NEVER_RETRIED).build())
        .summary(format!("{verb} session {session_id}"))
        .build();
    let request = SessionRequest { version: WIRE_VERSION, session_id, operation };
    match ctx.session_activity(format!("{SESSION_ACTIVITY}.{store}"), request, options).await {
        Ok(reply) => {
            let SessionReply { version: _, items } = decode("session reply", reply)?;
            Ok(items)
        }
        Err(failure) => Err(Box::new(EffectFailure::new(failure))),
    }
}
