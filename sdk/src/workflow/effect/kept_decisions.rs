//! The activity that reads and writes the decisions which hold beyond their run.

use std::{rc::Rc, time::Duration};

use temporal_agents_core::{
    drive::{KeptDecisionsEffect, SourceEffectError},
    engine::TriedFor,
    tool::BoxError,
    wire::{
        WIRE_VERSION,
        kept_decision::{KEPT_DECISIONS_ACTIVITY, KeptDecision, KeptDecisionsReply, KeptDecisionsRequest},
    },
};
use temporalio_workflow::{ActivityCloseTimeouts, ActivityOptions, RetryPolicy, WorkflowCancellationToken};

use super::{
    failure::{EffectFailure, NEVER_RETRIED, is_not_registered},
    summary::one_line,
    until_deployed::{Requirement, Unanswered, Wanted, with_activity_id},
};
use crate::workflow::context::DurableContext;

const ONE_ATTEMPT: Duration = Duration::from_secs(20);
/// Maximum time of all attempts to read: a run does not end because its store is unavailable for a
/// while.
const ALL_READS: Duration = Duration::from_hours(6);
/// Maximum time of all attempts to keep a decision: the call that was decided waits for it.
const ALL_WRITES: Duration = Duration::from_mins(10);

/// No worker has registered the activity.
#[derive(Debug, thiserror::Error)]
#[error(
    "no worker on task queue {task_queue:?} has activity {KEPT_DECISIONS_ACTIVITY}; add Resources::decision_store to \
     the workers of the workflow{tried_for}"
)]
struct NoStore {
    task_queue: String,
    tried_for: TriedFor,
    #[source]
    source: EffectFailure,
}

/// Reads the decisions of a user, or keeps one more.
///
/// # Errors
/// [`SourceEffectError`]; the store was unavailable, for 6 hours where the request reads, otherwise
/// for 10 minutes.
pub(in crate::workflow) async fn ask(
    ctx: &Rc<dyn DurableContext>,
    effect: KeptDecisionsEffect<'_>,
    activity_id: &str,
    scope: &WorkflowCancellationToken,
) -> Result<Vec<KeptDecision>, SourceEffectError> {
    let KeptDecisionsEffect { id: _, user, keep, agent } = effect;
    let (summary, longest) = match &keep {
        None => (format!("decisions kept for {user} · {agent}"), ALL_READS),
        Some(new) => (format!("keep the decision on {} for {user} · {agent}", new.decision.tool), ALL_WRITES),
    };
    let times =
        ActivityCloseTimeouts::ScheduleAndStartToClose { start_to_close: ONE_ATTEMPT, schedule_to_close: longest };
    let options = ActivityOptions::with_close_timeouts(times)
        .activity_id(activity_id)
        .cancellation_token(scope.clone())
        .retry_policy(RetryPolicy::builder().non_retryable_error_types(NEVER_RETRIED).build())
        .summary(one_line(summary))
        .build();
    let request = KeptDecisionsRequest { version: WIRE_VERSION, user, keep };
    let is_write = request.keep.is_some();
    let request = serde_json::to_value(request).map_err(BoxError::from)?;
    let what = Requirement::Activity(KEPT_DECISIONS_ACTIVITY);
    let wanted = Wanted { ctx, id: activity_id, what, longest: is_write.then_some(ALL_WRITES), token: scope };
    let schedule = |id| ctx.state_activity(KEPT_DECISIONS_ACTIVITY, request.clone(), with_activity_id(&options, id));
    match wanted.answer(schedule).await {
        Ok(answered) => {
            let reply: KeptDecisionsReply = answered.result.read("kept decisions reply").map_err(BoxError::from)?;
            Ok(reply.decisions)
        }
        Err(Unanswered::Cancelled) => Err(SourceEffectError::Cancelled),
        Err(Unanswered::Failed(failure, tried_for)) if is_not_registered(&failure) => {
            let (task_queue, source) = (ctx.task_queue(), EffectFailure::new(failure));
            Err(BoxError::from(NoStore { task_queue, tried_for: TriedFor(tried_for), source }).into())
        }
        Err(Unanswered::Failed(failure, tried_for)) => {
            Err(BoxError::from(EffectFailure::after(failure, tried_for)).into())
        }
    }
}
