//! Limits of a run on Nexus: how many operations are under way, and which endpoints exist.
//!
//! # Design
//! The server fails a workflow task that calls an endpoint that it does not have, or that has more
//! than 30 operations under way, and such a task is retried forever. So at most 20 operations are
//! admitted at a time, and before the first call at an endpoint the worker looks it up (activity
//! `agents.nexus_endpoint`, id `<run>-<turn>-tool-<n>-endpoint`). An endpoint that the server does
//! not have is a failure of kind `NotRegistered`. The server repeats requests, so the header
//! `idempotency-key` carries the call's key.

use std::{cell::RefCell, collections::BTreeSet, rc::Rc, time::Duration};

use temporal_agents_core::{
    drive::{ToolEffect, ToolEffectError},
    tool::{NexusOperation, ToolBinding},
    wire::{
        WIRE_VERSION,
        nexus_endpoint::{NEXUS_ENDPOINT_ACTIVITY, NexusEndpointReply, NexusEndpointRequest},
    },
};
use temporalio_workflow::{ActivityCloseTimeouts, ActivityOptions, WorkflowCancellationToken};

use super::gate::{Cancelled, Gate, Place};
use crate::workflow::{
    context::DurableContext,
    effect::{
        failure::NEVER_RETRIED,
        tool_call::activity::retry_policy,
        until_deployed::{Requirement, Unanswered, Wanted, with_activity_id},
    },
};

/// Maximum number of operations that a run has under way. By default, a server accepts 30 of a
/// workflow, and fails the workflow task that requests more; a workflow may have others besides
/// those of this run.
const MOST_OPERATIONS: usize = 20;

/// Maximum time of looking up an endpoint; after it, only the call can show whether the endpoint
/// exists.
const PATIENCE: Duration = Duration::from_mins(1);
const ONE_ATTEMPT: Duration = Duration::from_secs(10);

/// The Nexus operations of one run, and of the runs inside it.
#[derive(Debug)]
pub(in crate::workflow) struct Nexus {
    operations: Gate,
    lookups: Gate,
    callable: RefCell<BTreeSet<String>>,
}

/// The error for an endpoint that the server does not have.
#[derive(Debug, thiserror::Error)]
#[error("the server has no Nexus endpoint {endpoint:?}; create it, or use the name of an existing one")]
struct NoEndpoint {
    endpoint: String,
}

/// The result of looking up an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// The endpoint can be called, as far as the server says.
    Callable,
    /// The server has no endpoint of that name.
    Absent,
}

impl Default for Nexus {
    fn default() -> Self {
        let [operations, lookups] = [MOST_OPERATIONS, 1].map(Gate::at_most);
        Self { operations, lookups, callable: RefCell::default() }
    }
}

impl Nexus {
    /// Returns `true` if a place was freed while others wait.
    pub(in crate::workflow) fn take_wakeup(&self) -> bool {
        self.operations.take_wakeup() | self.lookups.take_wakeup()
    }

    /// Admits a call of a Nexus operation: as many as the server accepts, at endpoints that it has.
    /// Returns `None` for other calls. Dropping the place frees it; `before` is called when the
    /// activity that looks up an endpoint is about to be scheduled.
    ///
    /// # Errors
    /// [`ToolEffectError::Absent`] if the server does not have the endpoint,
    /// [`ToolEffectError::Cancelled`].
    pub(in crate::workflow) async fn admit(
        &self,
        ctx: &Rc<dyn DurableContext>,
        call: &ToolEffect<'_>,
        id: &str,
        token: &WorkflowCancellationToken,
        before: impl FnOnce(),
    ) -> Result<Option<Place<'_>>, ToolEffectError> {
        let ToolBinding::Nexus(NexusOperation { endpoint, .. }) = call.tool.binding() else { return Ok(None) };
        let place = self.operations.enter(0, token).await.map_err(|Cancelled| ToolEffectError::Cancelled)?;
        let summary = format!("endpoint {endpoint} · {} · turn {}", call.info.agent, call.info.turn);
        let id = format!("{id}-endpoint");
        let options = options(&id, summary, token);
        let needed = Requirement::Activity(NEXUS_ENDPOINT_ACTIVITY);
        let wanted = Wanted { ctx, id: &id, what: needed, longest: Some(PATIENCE), token };
        match self.look_up(wanted, endpoint, options, before).await {
            Ok(Found::Callable) => Ok(Some(place)),
            Ok(Found::Absent) => Err(ToolEffectError::Absent(Box::new(NoEndpoint { endpoint: endpoint.clone() }))),
            Err(Cancelled) => Err(ToolEffectError::Cancelled),
        }
    }

    /// Looks up an endpoint, unless the run has found it before. Lookups run one after another, so
    /// that concurrent calls look up an endpoint once.
    async fn look_up(
        &self,
        wanted: Wanted<'_>,
        endpoint: &str,
        options: ActivityOptions,
        before: impl FnOnce(),
    ) -> Result<Found, Cancelled> {
        let _place = self.lookups.enter(0, wanted.token).await?;
        if self.callable.borrow().contains(endpoint) {
            return Ok(Found::Callable);
        }
        before();
        let request = NexusEndpointRequest { version: WIRE_VERSION, endpoint: endpoint.to_owned() };
        let schedule = |id| wanted.ctx.nexus_endpoint_activity(request.clone(), with_activity_id(&options, id));
        match wanted.answer(schedule).await {
            Ok(answered) => match answered.result.read("Nexus endpoint reply") {
                Ok(NexusEndpointReply { version: _, callable: false }) => return Ok(Found::Absent),
                Ok(NexusEndpointReply { version: _, callable: true }) => {
                    self.callable.borrow_mut().insert(endpoint.to_owned());
                }
                // Written by a worker of another release: the call will show whether the endpoint
                // exists.
                Err(_) => {}
            },
            Err(Unanswered::Cancelled) => return Err(Cancelled),
            // The lookup has no result: a worker without this activity, or a server that does not
            // respond.
            Err(Unanswered::Failed(..)) => {}
        }
        Ok(Found::Callable)
    }
}

/// Returns the options of the activity that looks up an endpoint.
fn options(activity_id: &str, summary: String, token: &WorkflowCancellationToken) -> ActivityOptions {
    let close =
        ActivityCloseTimeouts::ScheduleAndStartToClose { start_to_close: ONE_ATTEMPT, schedule_to_close: PATIENCE };
    ActivityOptions::with_close_timeouts(close)
        .activity_id(activity_id)
        .cancellation_token(token.clone())
        .retry_policy(retry_policy(0, NEVER_RETRIED))
        .summary(summary)
        .build()
}
