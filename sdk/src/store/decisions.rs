//! The store of decisions that hold beyond their run.

use std::{sync::Arc, time::SystemTime};

use futures::future::BoxFuture;
use temporal_agents_core::{
    tool::BoxError,
    wire::kept_decision::{KeptDecision, NewDecision},
};

/// Most decisions that a run reads.
const MOST_DECISIONS: u32 = 256;

/// A store of the decisions that users have made for all later calls, beyond the run in which they
/// were made ([`RunConfig::keep_decisions`](temporal_agents_core::drive::RunConfig::keep_decisions)).
/// `Resources::decision_store` registers it; `SqlStore` implements it.
///
/// # Errors
/// Any failure of the store.
///
/// # Retries
/// A run begins only when its decisions are read: an error is retried for hours. A decision that is
/// not stored within 10 minutes holds in its run alone.
pub trait DecisionStore: Send + Sync {
    /// Returns the decisions of a user, the newest first, at most `limit`.
    fn decisions<'a>(&'a self, user: &'a str, limit: u32) -> BoxFuture<'a, Result<Vec<StoredDecision>, BoxError>>;

    /// Stores a decision of a user, in place of an earlier one about the same calls. The same
    /// decision may be stored more than once. `arguments` are those of the call that was decided,
    /// as JSON, for people; a long text is truncated.
    fn keep<'a>(
        &'a self,
        user: &'a str,
        decision: &'a KeptDecision,
        arguments: &'a str,
    ) -> BoxFuture<'a, Result<(), BoxError>>;

    /// Removes the decision about the same calls. Returns `false` if there is none. Runs that have
    /// begun continue to apply it.
    fn forget<'a>(&'a self, user: &'a str, decision: &'a KeptDecision) -> BoxFuture<'a, Result<bool, BoxError>>;
}

/// A decision in a store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredDecision {
    /// The decision.
    pub decision: KeptDecision,
    /// The arguments of the call that was decided, as JSON; a long text is truncated.
    pub arguments: String,
    /// Time at which the decision was stored.
    pub kept_at: SystemTime,
}

impl StoredDecision {
    /// Creates a stored decision.
    pub fn new(decision: KeptDecision, arguments: impl Into<String>, kept_at: SystemTime) -> Self {
        Self { decision, arguments: arguments.into(), kept_at }
    }
}

/// The store of a worker or an inline runner; `None` if it has no store.
#[derive(Clone, Default)]
pub(crate) struct OptionalDecisionStore(pub(crate) Option<Arc<dyn DecisionStore>>);

impl OptionalDecisionStore {
    /// Keeps a decision of a user, or returns all of them.
    ///
    /// # Errors
    /// That of the store, or that there is none.
    pub(crate) async fn ask(&self, user: &str, keep: Option<&NewDecision>) -> Result<Vec<KeptDecision>, BoxError> {
        let Some(store) = &self.0 else {
            return Err("there is no store of decisions; add one with Resources::decision_store(..)".into());
        };
        if let Some(NewDecision { decision, arguments }) = keep {
            store.keep(user, decision, arguments).await?;
            return Ok(Vec::new());
        }
        let mut found = store.decisions(user, MOST_DECISIONS).await?;
        found.truncate(MOST_DECISIONS as usize);
        Ok(found.into_iter().map(|stored| stored.decision).collect())
    }
}
