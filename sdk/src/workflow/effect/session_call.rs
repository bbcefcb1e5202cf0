//! Calls of activities that read or write a stored session.

use std::{pin::pin, rc::Rc, time::Duration};

use futures::future::{Either, select};
use temporal_agents_core::{
    agent::AgentInfo,
    drive::{SessionAction, SessionEffect, SessionEffectError},
    tool::BoxError,
    wire::{
        Item, WIRE_VERSION,
        session_call::{SESSION_ACTIVITY, SessionOperation, SessionReply, SessionRequest},
    },
};
use temporalio_workflow::{ActivityCloseTimeouts, ActivityOptions, RetryPolicy, WorkflowCancellationToken};

use super::{
    failure::{EffectFailure, NEVER_RETRIED},
    summary::one_line,
    until_deployed::{Answered, Requirement, Unanswered, Wanted, with_activity_id},
};
use crate::workflow::{context::DurableContext, effect::json::JsonPayload, limits::size};

const ONE_ATTEMPT: Duration = Duration::from_mins(1);
const ALL_ATTEMPTS: Duration = Duration::from_hours(6);
/// Time that a cancelled run has to finish a write.
const LAST_WORDS: Duration = Duration::from_mins(1);

/// Reads or writes a session. Attempts continue for hours: a run does not end because its store is
/// unavailable. A write is not cancelled with the run, but then has a minute to finish. Items that
/// are too large for one activity are written by several, one after another; a session that is too
/// large for one reply is read by several, as the replies say.
///
/// # Determinism
/// The recorded reply alone decides whether there is another read. A session that fits into one
/// reply is read by one activity, as in earlier releases.
pub(in crate::workflow) async fn call(
    ctx: &Rc<dyn DurableContext>,
    effect: SessionEffect,
    id: String,
    scope: &WorkflowCancellationToken,
) -> Result<Vec<Item>, SessionEffectError> {
    let SessionEffect { store, session_id, action, agent } = effect;
    let session = Session { ctx, activity_type: format!("{SESSION_ACTIVITY}.{store}"), id: session_id, agent };
    match action {
        SessionAction::Read { limit } => session.read(id, limit, scope).await,
        SessionAction::Add { items } => {
            for (number, items) in parts(items)?.into_iter().enumerate() {
                let id = if number == 0 { id.clone() } else { format!("{id}-{number}") };
                let reply = session.write(id, items, scope).await;
                settled(reply)?.read::<SessionReply>("session reply").map_err(BoxError::from)?;
            }
            Ok(Vec::new())
        }
    }
}

/// Splits the items into lists that fit into one request each.
///
/// # Errors
/// An item does not fit into any request.
fn parts(items: Vec<Item>) -> Result<Vec<Vec<Item>>, BoxError> {
    let (mut full, mut part, mut bytes) = (Vec::new(), Vec::new(), 0);
    for item in items {
        // One byte more for the comma.
        let more = size::check("an item of the session", &item)? + 1;
        if bytes + more > size::MOST_BYTES && !part.is_empty() {
            full.push(std::mem::take(&mut part));
            bytes = 0;
        }
        bytes += more;
        part.push(item);
    }
    full.push(part);
    Ok(full)
}

type Reply = Result<Answered<JsonPayload>, Unanswered>;

fn settled(reply: Reply) -> Result<JsonPayload, SessionEffectError> {
    match reply {
        Ok(answered) => Ok(answered.result),
        Err(Unanswered::Cancelled) => Err(SessionEffectError::Cancelled),
        Err(Unanswered::Failed(failure, tried_for)) => {
            Err(SessionEffectError::Failed(Box::new(EffectFailure::after(failure, tried_for))))
        }
    }
}

/// A session, and the activity by which its store is reached.
struct Session<'c> {
    ctx: &'c Rc<dyn DurableContext>,
    activity_type: String,
    id: String,
    agent: AgentInfo,
}

/// A reply that would make the run read the session forever.
#[derive(Debug, thiserror::Error)]
#[error("the session activity reports that there are more items, but returns none")]
struct EmptyPortion;

impl Session<'_> {
    /// Reads the session, portion by portion.
    async fn read(
        &self,
        id: String,
        limit: Option<u32>,
        scope: &WorkflowCancellationToken,
    ) -> Result<Vec<Item>, SessionEffectError> {
        let (mut found, mut operation, mut portion_id) = (Vec::new(), SessionOperation::Read { limit }, id.clone());
        for portion in 1.. {
            let reply = self.schedule("read", portion_id, operation, scope.clone()).await;
            let SessionReply { version: _, items, more } =
                settled(reply)?.read("session reply").map_err(BoxError::from)?;
            let is_empty = items.is_empty();
            found.extend(items);
            let Some(after) = more else { break };
            if is_empty {
                return Err(BoxError::from(EmptyPortion).into());
            }
            operation = SessionOperation::ReadOn { limit, after };
            portion_id = format!("{id}-{portion}");
        }
        Ok(found)
    }

    async fn schedule(
        &self,
        verb: &str,
        activity_id: String,
        operation: SessionOperation,
        token: WorkflowCancellationToken,
    ) -> Reply {
        let times = ActivityCloseTimeouts::ScheduleAndStartToClose {
            start_to_close: ONE_ATTEMPT,
            schedule_to_close: ALL_ATTEMPTS,
        };
        let options = ActivityOptions::with_close_timeouts(times)
            .activity_id(&*activity_id)
            .cancellation_token(token.clone())
            .retry_policy(RetryPolicy::builder().non_retryable_error_types(NEVER_RETRIED).build())
            .summary(one_line(format!("{verb} session {} · {} · turn {}", self.id, self.agent.name, self.agent.turn)))
            .build();
        let request = SessionRequest { version: WIRE_VERSION, session_id: self.id.clone(), operation };
        let what = Requirement::Activity(&self.activity_type);
        let wanted = Wanted { ctx: self.ctx, id: &activity_id, what, longest: None, token: &token };
        let schedule =
            |id| self.ctx.session_activity(self.activity_type.clone(), request.clone(), with_activity_id(&options, id));
        wanted.answer(schedule).await
    }

    /// Writes to the session. If the run is cancelled meanwhile, the write has one more minute.
    async fn write(&self, id: String, items: Vec<Item>, scope: &WorkflowCancellationToken) -> Reply {
        let detached = WorkflowCancellationToken::new();
        let operation = SessionOperation::Add { items, key: id.clone() };
        let writing = pin!(self.schedule("add to", id, operation, detached.clone()));
        let writing = match select(writing, scope.cancelled()).await {
            Either::Left((written, _)) => return written,
            Either::Right(((), writing)) => writing,
        };
        let timer = WorkflowCancellationToken::new();
        match select(writing, self.ctx.pause(LAST_WORDS, "last time to write the session", timer.clone())).await {
            Either::Left((written, _)) => {
                timer.cancel();
                written
            }
            Either::Right(((), writing)) => {
                detached.cancel();
                writing.await
            }
        }
    }
}
