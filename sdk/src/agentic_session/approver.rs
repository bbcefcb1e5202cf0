//! Who decides on calls that wait, while the activity of their session lives.

use futures::future::BoxFuture;
use temporalio_sdk::activities::ActivityContext;

use crate::{
    tool::Failure,
    wire::{ApprovalRuling, run_state::Interruption},
};

/// Decides on calls that wait for people.
///
/// The session heartbeats while it waits. After a crash it asks again, with the same [`id`](Asked::id): whoever answers must not ask people
/// twice. [`ApprovalByWorkflow`](super::ApprovalByWorkflow) is one that does not.
pub trait Approver: Send + Sync {
    /// Waits for a decision. The future is dropped when the activity is cancelled.
    ///
    /// # Errors
    /// Whatever went wrong: that is no decision, so the attempt fails, and another one asks again.
    fn decide<'a>(&'a self, asked: Asked<'a>) -> BoxFuture<'a, Result<ApprovalRuling, Failure>>;
}

/// A call that waits for a decision.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Asked<'a> {
    /// The call.
    pub interruption: &'a Interruption,
    /// What names this question for good, also in another attempt: short ASCII.
    pub id: &'a str,
    /// The activity of the session; its [`client`](ActivityContext::client) is the worker's.
    pub activity: &'a ActivityContext,
}

impl std::fmt::Debug for Asked<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Asked").field("id", &self.id).field("interruption", &self.interruption).finish_non_exhaustive()
    }
}
