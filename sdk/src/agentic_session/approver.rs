//! The decisions on calls that wait for approval, while the activity of their session runs.

use futures::future::BoxFuture;
use temporal_agents_core::{
    tool::BoxError,
    wire::{ApprovalRuling, run_state::Interruption},
};
use temporalio_sdk::activities::ActivityContext;

/// Decides on calls that wait for approval.
///
/// The session heartbeats while it waits. After a crash it requests the decision again, with the
/// same [`id`](Asked::id): an implementation must not ask a person twice.
/// [`WorkflowApprover`](super::WorkflowApprover) meets this requirement.
pub trait Approver: Send + Sync {
    /// Waits for a decision. The future is dropped when the activity is cancelled.
    ///
    /// # Errors
    /// Any error. It is not a decision: the attempt fails, and the next one requests the decision
    /// again.
    fn decide<'a>(&'a self, asked: Asked<'a>) -> BoxFuture<'a, Result<ApprovalRuling, BoxError>>;
}

/// A call that waits for a decision.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Asked<'a> {
    /// The call that needs approval.
    pub interruption: &'a Interruption,
    /// Identifier of the question, the same in each attempt. Short ASCII.
    pub id: &'a str,
    /// Context of the session's activity; its [`client`](ActivityContext::client) is the worker's.
    pub activity: &'a ActivityContext,
}

impl std::fmt::Debug for Asked<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Asked").field("id", &self.id).field("interruption", &self.interruption).finish_non_exhaustive()
    }
}
