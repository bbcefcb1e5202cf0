//! The activity that finds the toolsets which are selected for a run.

use std::{rc::Rc, time::Duration};

use temporal_agents_core::{
    drive::{SourceEffectError, ToolsetsEffect},
    engine::TriedFor,
    tool::BoxError,
    wire::{
        SelectedToolset, WIRE_VERSION,
        find_toolsets::{FIND_TOOLSETS_ACTIVITY, FindToolsetsReply, FindToolsetsRequest},
    },
};
use temporalio_workflow::{ActivityCloseTimeouts, ActivityOptions, RetryPolicy, WorkflowCancellationToken};

use super::{
    failure::{EffectFailure, NEVER_RETRIED, is_not_registered},
    summary::one_line,
    until_deployed::{Requirement, Unanswered, Wanted, with_activity_id},
};
use crate::workflow::context::DurableContext;

const ONE_ATTEMPT: Duration = Duration::from_mins(1);
/// Maximum time of all attempts: a run does not end because its source is unavailable for a while.
const ALL_ATTEMPTS: Duration = Duration::from_hours(6);

/// No worker has registered the activity.
#[derive(Debug, thiserror::Error)]
#[error(
    "no worker on task queue {task_queue:?} has activity {FIND_TOOLSETS_ACTIVITY}; add Resources::toolset_source to \
     the workers of the workflow{tried_for}"
)]
struct NoSource {
    task_queue: String,
    tried_for: TriedFor,
    #[source]
    source: EffectFailure,
}

/// Finds toolsets by their names.
///
/// # Errors
/// [`SourceEffectError`]; a source was unavailable for 6 hours, or failed for good.
pub(in crate::workflow) async fn find(
    ctx: &Rc<dyn DurableContext>,
    effect: ToolsetsEffect<'_>,
    activity_id: &str,
    scope: &WorkflowCancellationToken,
) -> Result<Vec<SelectedToolset>, SourceEffectError> {
    let times =
        ActivityCloseTimeouts::ScheduleAndStartToClose { start_to_close: ONE_ATTEMPT, schedule_to_close: ALL_ATTEMPTS };
    let options = ActivityOptions::with_close_timeouts(times)
        .activity_id(activity_id)
        .cancellation_token(scope.clone())
        .retry_policy(RetryPolicy::builder().non_retryable_error_types(NEVER_RETRIED).build())
        .summary(one_line(format!("find {} · {}", effect.names.join(", "), effect.agent)))
        .build();
    let request = FindToolsetsRequest { version: WIRE_VERSION, names: effect.names, user: effect.user };
    let request = serde_json::to_value(request).map_err(BoxError::from)?;
    let what = Requirement::Activity(FIND_TOOLSETS_ACTIVITY);
    let wanted = Wanted { ctx, id: activity_id, what, longest: None, token: scope };
    let schedule = |id| ctx.state_activity(FIND_TOOLSETS_ACTIVITY, request.clone(), with_activity_id(&options, id));
    match wanted.answer(schedule).await {
        Ok(answered) => {
            let reply: FindToolsetsReply = answered.result.read("find toolsets reply").map_err(BoxError::from)?;
            Ok(reply.found)
        }
        Err(Unanswered::Cancelled) => Err(SourceEffectError::Cancelled),
        Err(Unanswered::Failed(failure, tried_for)) if is_not_registered(&failure) => {
            let (task_queue, source) = (ctx.task_queue(), EffectFailure::new(failure));
            Err(BoxError::from(NoSource { task_queue, tried_for: TriedFor(tried_for), source }).into())
        }
        Err(Unanswered::Failed(failure, tried_for)) => {
            Err(BoxError::from(EffectFailure::after(failure, tried_for)).into())
        }
    }
}
