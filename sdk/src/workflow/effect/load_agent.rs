//! The activity that loads an agent as data, before a run begins.

use std::{rc::Rc, time::Duration};

use temporal_agents_core::{
    engine::{RunError, TriedFor},
    tool::BoxError,
    wire::{
        SpecRef, WIRE_VERSION,
        load_agent::{LOAD_AGENT_ACTIVITY, LoadAgentReply, LoadAgentRequest},
    },
};
use temporalio_workflow::{ActivityCloseTimeouts, ActivityOptions, RetryPolicy};

use super::{
    failure::{EffectFailure, NEVER_RETRIED, is_not_registered},
    until_deployed::{Requirement, Unanswered, Wanted, with_activity_id},
};
use crate::workflow::context::DurableContext;

/// Id of the activity: a workflow loads a spec once, before its first run.
const ACTIVITY_ID: &str = "load-agent";
const ONE_ATTEMPT: Duration = Duration::from_mins(1);
/// Maximum time of all attempts: a run does not end because its store is unavailable for a while.
const ALL_ATTEMPTS: Duration = Duration::from_hours(6);

/// No worker has registered the activity.
#[derive(Debug, thiserror::Error)]
#[error(
    "no worker on task queue {task_queue:?} has activity {LOAD_AGENT_ACTIVITY}; add Resources::agent_store to the \
     workers of the workflow{tried_for}"
)]
struct NoStore {
    task_queue: String,
    tried_for: TriedFor,
    #[source]
    source: EffectFailure,
}

/// Loads a spec, and all specs that it reaches by handoffs.
///
/// # Errors
/// [`RunError::Spec`] if the store does not have the spec, or was unavailable for 6 hours;
/// [`RunError::Cancelled`].
pub(in crate::workflow) async fn load(
    ctx: &Rc<dyn DurableContext>,
    spec: &SpecRef,
    models_elsewhere: bool,
) -> Result<LoadAgentReply, RunError> {
    let failed = |source: BoxError| RunError::Spec { agent: spec.name.clone(), source };
    let token = ctx.cancellation_token();
    let times =
        ActivityCloseTimeouts::ScheduleAndStartToClose { start_to_close: ONE_ATTEMPT, schedule_to_close: ALL_ATTEMPTS };
    let options = ActivityOptions::with_close_timeouts(times)
        .activity_id(ACTIVITY_ID)
        .cancellation_token(token.clone())
        .retry_policy(RetryPolicy::builder().non_retryable_error_types(NEVER_RETRIED).build())
        .summary("load the agent's spec".to_owned())
        .build();
    let request = LoadAgentRequest { version: WIRE_VERSION, spec: spec.clone(), models_elsewhere };
    let request = serde_json::to_value(request).map_err(|error| failed(error.into()))?;
    let what = Requirement::Activity(LOAD_AGENT_ACTIVITY);
    let wanted = Wanted { ctx, id: ACTIVITY_ID, what, longest: None, token: &token };
    let schedule = |id| ctx.state_activity(LOAD_AGENT_ACTIVITY, request.clone(), with_activity_id(&options, id));
    match wanted.answer(schedule).await {
        Ok(answered) => answered.result.read("load agent reply").map_err(|error| failed(error.into())),
        Err(Unanswered::Cancelled) => Err(RunError::Cancelled { agent: spec.name.clone(), turn: 0 }),
        Err(Unanswered::Failed(failure, tried_for)) if is_not_registered(&failure) => {
            let (task_queue, source) = (ctx.task_queue(), EffectFailure::new(failure));
            Err(failed(Box::new(NoStore { task_queue, tried_for: TriedFor(tried_for), source })))
        }
        Err(Unanswered::Failed(failure, tried_for)) => Err(failed(Box::new(EffectFailure::after(failure, tried_for)))),
    }
}
