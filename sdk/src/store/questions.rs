//! The store of questions that any process can decide.

use std::{sync::Arc, time::SystemTime};

use futures::future::BoxFuture;
use temporal_agents_core::{
    tool::BoxError,
    wire::{AgentInterruption, ApprovalRuling},
};

/// A store of the questions of agentic sessions, from which any process reads and decides them:
/// [`StoreApprover`](crate::agentic_session::StoreApprover) writes them. `SqlStore` implements it.
///
/// ```no_run
/// use temporal_agents::{store::QuestionStore, wire::Decision};
///
/// # type Failure = Box<dyn std::error::Error + Send + Sync>;
/// # async fn example(store: impl QuestionStore) -> Result<(), Failure> {
/// for question in store.open_questions(None, 100).await? {
///     println!("{} wants to call {}", question.call.agent, question.call.tool);
///     let ruling = Decision::approve().by("ada").into();
///     // `false` if somebody else was faster, or the question has expired.
///     let counts = store.rule(&question.id, &ruling).await?;
/// #   let _ = counts;
/// }
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Any failure of the store. It is no decision.
///
/// # Retries
/// A session repeats [`ask`](Self::ask) and polls again until the store answers, for as long as its
/// activity may run.
pub trait QuestionStore: Send + Sync {
    /// Stores a question, unless the store has one with its id, and returns the stored one.
    fn ask<'a>(&'a self, question: &'a StoredQuestion) -> BoxFuture<'a, Result<StoredQuestion, BoxError>>;

    /// Returns the ruling on a question; `None` if there is none yet.
    fn ruling<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<ApprovalRuling>, BoxError>>;

    /// Decides on a question. Returns `false`, and changes nothing, if it is decided already or
    /// unknown: of several rulings, the first counts.
    fn rule<'a>(&'a self, id: &'a str, ruling: &'a ApprovalRuling) -> BoxFuture<'a, Result<bool, BoxError>>;

    /// Returns the question with this id, decided or not.
    fn question<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<StoredQuestion>, BoxError>>;

    /// Returns the questions that are not decided, the oldest first, at most `limit`. `after` are the
    /// time and the id of a question, decided or not: those that follow it are returned. Questions
    /// that were asked at the same time are always in the same order. One that has expired and whose
    /// session does not run any more is among them.
    fn open_questions<'a>(
        &'a self,
        after: Option<(SystemTime, &'a str)>,
        limit: u32,
    ) -> BoxFuture<'a, Result<Vec<StoredQuestion>, BoxError>>;
}

/// The store of questions, if there is one.
#[cfg(feature = "http")]
#[derive(Clone, Default)]
pub(crate) struct OptionalQuestionStore(pub(crate) Option<Arc<dyn QuestionStore>>);

impl<S: QuestionStore + ?Sized> QuestionStore for Arc<S> {
    fn ask<'a>(&'a self, question: &'a StoredQuestion) -> BoxFuture<'a, Result<StoredQuestion, BoxError>> {
        (**self).ask(question)
    }

    fn ruling<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<ApprovalRuling>, BoxError>> {
        (**self).ruling(id)
    }

    fn rule<'a>(&'a self, id: &'a str, ruling: &'a ApprovalRuling) -> BoxFuture<'a, Result<bool, BoxError>> {
        (**self).rule(id, ruling)
    }

    fn question<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<StoredQuestion>, BoxError>> {
        (**self).question(id)
    }

    fn open_questions<'a>(
        &'a self,
        after: Option<(SystemTime, &'a str)>,
        limit: u32,
    ) -> BoxFuture<'a, Result<Vec<StoredQuestion>, BoxError>> {
        (**self).open_questions(after, limit)
    }
}

/// A question in a store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredQuestion {
    /// Identifier of the question: the same in each attempt of its session.
    pub id: String,
    /// Id of the workflow whose session waits.
    pub workflow_id: String,
    /// The call to decide on.
    pub call: AgentInterruption,
    /// Time at which it was asked.
    pub asked_at: SystemTime,
    /// Time at which it expires.
    pub expires_at: SystemTime,
}

impl StoredQuestion {
    /// Creates a question.
    pub fn new(
        id: impl Into<String>,
        workflow_id: impl Into<String>,
        call: AgentInterruption,
        asked_at: SystemTime,
        expires_at: SystemTime,
    ) -> Self {
        Self { id: id.into(), workflow_id: workflow_id.into(), call, asked_at, expires_at }
    }
}
