//! What a run has to heed about Nexus: how many operations it has under way, and which endpoints there are.

use std::{cell::RefCell, collections::BTreeSet, rc::Rc, time::Duration};

use temporalio_workflow::{ActivityCloseTimeouts, ActivityExecutionError, ActivityOptions, WorkflowCancellationToken};

use super::{
    context::DurableContext,
    failure::NEVER_RETRIED,
    gate::{Cancelled, Gate, Place},
    tool_call::activity::retry_policy,
};
use crate::wire::{NexusEndpointReply, NexusEndpointRequest, WIRE_VERSION};

/// Most operations that a run has under way. A server takes 30 of a workflow by default, and fails the workflow task that asks for more; a
/// workflow may have more than this run.
const MOST_OPERATIONS: usize = 20;

/// How long an endpoint is looked up; then the call has to show whether it is there.
const PATIENCE: Duration = Duration::from_mins(1);
const ONE_ATTEMPT: Duration = Duration::from_secs(10);

/// The Nexus operations of one run, and of the runs inside it.
#[derive(Debug)]
pub(super) struct Nexus {
    operations: Gate,
    lookups: Gate,
    callable: RefCell<BTreeSet<String>>,
}

/// An endpoint that is looked up: its name, the id of the activity, and the line that the Temporal UI shows.
pub(super) struct Lookup<'l> {
    pub(super) endpoint: &'l str,
    pub(super) activity_id: String,
    pub(super) summary: String,
}

/// What looking an endpoint up came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// It can be called, as far as the server says.
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
    /// Whether somebody has left where others wait.
    pub(super) fn is_worth_a_look(&self) -> bool {
        self.operations.is_worth_a_look() | self.lookups.is_worth_a_look()
    }

    /// Waits until another operation may be under way.
    ///
    /// # Errors
    /// [`Cancelled`].
    pub(super) async fn enter(&self, token: &WorkflowCancellationToken) -> Result<Place<'_>, Cancelled> {
        self.operations.enter(0, token).await
    }

    /// Looks an endpoint up, unless the run has found it before; one after another, so that calls at the same time ask once. `before` is
    /// called when the activity is about to be scheduled.
    ///
    /// # Errors
    /// [`Cancelled`].
    pub(super) async fn look_up(
        &self,
        ctx: &Rc<dyn DurableContext>,
        lookup: Lookup<'_>,
        token: &WorkflowCancellationToken,
        before: impl FnOnce(),
    ) -> Result<Found, Cancelled> {
        let _place = self.lookups.enter(0, token).await?;
        let Lookup { endpoint, activity_id, summary } = lookup;
        if self.callable.borrow().contains(endpoint) {
            return Ok(Found::Callable);
        }
        before();
        let close =
            ActivityCloseTimeouts::ScheduleAndStartToClose { start_to_close: ONE_ATTEMPT, schedule_to_close: PATIENCE };
        let options = ActivityOptions::with_close_timeouts(close)
            .activity_id(activity_id)
            .cancellation_token(token.clone())
            .retry_policy(retry_policy(0, NEVER_RETRIED))
            .summary(summary)
            .build();
        let request = NexusEndpointRequest { version: WIRE_VERSION, endpoint: endpoint.to_owned() };
        match ctx.nexus_endpoint_activity(request, options).await {
            Ok(reply) => match reply.read("Nexus endpoint reply") {
                Ok(NexusEndpointReply { version: _, callable: false }) => return Ok(Found::Absent),
                Ok(NexusEndpointReply { version: _, callable: true }) => {
                    self.callable.borrow_mut().insert(endpoint.to_owned());
                }
                // Written by a worker of another release: the call has to show it.
                Err(_) => {}
            },
            Err(ActivityExecutionError::Cancelled(_)) => return Err(Cancelled),
            Err(failure) if failure.as_cancelled().is_some() => return Err(Cancelled),
            // Nobody says whether it is there: a worker without this activity, a server that does not answer.
            Err(_) => {}
        }
        Ok(Found::Callable)
    }
}
