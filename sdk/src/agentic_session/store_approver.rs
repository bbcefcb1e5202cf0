//! An approver over a store: any process decides, and the session polls.

use std::time::{Duration, SystemTime};

use futures::{FutureExt, future::BoxFuture};
use temporal_agents_core::{
    tool::BoxError,
    wire::{AgentInterruption, ApprovalRuling, run_state::Decision},
};
use tokio::time::sleep;

use super::approver::{Approver, Asked};
use crate::store::{QuestionStore, StoredQuestion};

/// Stores each call that waits as a question, and polls the store for the ruling. Any process that
/// reaches the store decides ([`QuestionStore::rule`]): no connection to Temporal is needed, nor
/// the worker on which the session runs.
///
/// The id of a question contains the run of the workflow, so that each attempt of the session waits
/// for the same question, also one that was decided while no attempt was running. A store that
/// fails is polled again; the session waits meanwhile.
///
/// A question expires: after 24 hours the call is rejected, unless [`expires`](Self::expires) sets
/// something else. Of the expiry and a ruling that arrives at that moment, the one that the store
/// has first counts.
#[derive(Clone, Debug)]
pub struct StoreApprover<S> {
    store: S,
    after: Duration,
    late: Decision,
    poll: Duration,
}

/// The error of a question whose id belongs to another call.
#[derive(Debug, thiserror::Error)]
#[error(
    "question {id:?} in the store is about another call ({tool:?} of {agent:?}); its ruling is not used as a decision. \
     Check which programs write questions"
)]
struct WrongQuestion {
    id: String,
    agent: String,
    tool: String,
}

impl<S: QuestionStore> StoreApprover<S> {
    /// Creates an approver that polls every second and rejects calls after 24 hours.
    pub fn new(store: S) -> Self {
        let late = Decision::reject_with("Nobody has approved this call within 24 hours.");
        Self { store, after: Duration::from_hours(24), late, poll: Duration::from_secs(1) }
    }

    /// Sets the time after which a question expires, and the decision that counts then. It must fit
    /// in the start-to-close timeout of the session's activity. A decision that does not fit a
    /// question, for example an approval of a client tool, rejects it.
    #[must_use]
    pub fn expires(mut self, after: Duration, late: Decision) -> Self {
        (self.after, self.late) = (after, late);
        self
    }

    /// Sets the pause between two polls; at least 50 ms. Default 1 second.
    #[must_use]
    pub fn poll_interval(mut self, interval: Duration) -> Self {
        self.poll = interval.max(Duration::from_millis(50));
        self
    }

    /// Returns the ruling on a question, or `None` after it has been asked for in vain.
    ///
    /// # Errors
    /// [`WrongQuestion`].
    async fn poll(&self, new: &StoredQuestion) -> Result<Option<ApprovalRuling>, BoxError> {
        let passing = |error: BoxError| {
            tracing::warn!(question = new.id, %error, "the store of questions failed; it is polled again");
        };
        let stored = match self.store.ask(new).await {
            Ok(stored) => stored,
            Err(error) => {
                passing(error);
                return Ok(None);
            }
        };
        if stored.call != new.call {
            let AgentInterruption { agent, tool, .. } = stored.call;
            return Err(Box::new(WrongQuestion { id: stored.id, agent, tool }));
        }
        loop {
            let found = match self.store.ruling(&stored.id).await {
                Ok(None) if SystemTime::now() >= stored.expires_at => {
                    let late = ApprovalRuling::from(self.late.clone().by("expired"));
                    // Whoever was first, the next poll finds the ruling.
                    self.store.rule(&stored.id, &late).await.map(|_| None)
                }
                found => found,
            };
            match found {
                Ok(Some(ruling)) => return Ok(Some(ruling)),
                Ok(None) => {}
                Err(error) => passing(error),
            }
            let left = stored.expires_at.duration_since(SystemTime::now()).unwrap_or(self.poll);
            sleep(self.poll.min(left)).await;
        }
    }
}

impl<S: QuestionStore> Approver for StoreApprover<S> {
    fn decide<'a>(&'a self, asked: Asked<'a>) -> BoxFuture<'a, Result<ApprovalRuling, BoxError>> {
        async move {
            let info = asked.activity.info();
            let workflow_id = info.workflow_id.clone().unwrap_or_default();
            let run_id = info.workflow_run_id.clone().unwrap_or_default();
            let id = format!("{workflow_id}/{run_id}/{}/{}", info.activity_id, asked.id);
            let asked_at = SystemTime::now();
            let call = asked.interruption.clone().into();
            let question = StoredQuestion::new(id, workflow_id, call, asked_at, asked_at + self.after);
            loop {
                if let Some(ruling) = self.poll(&question).await? {
                    return Ok(ruling);
                }
                sleep(self.poll).await;
            }
        }
        .boxed()
    }
}
