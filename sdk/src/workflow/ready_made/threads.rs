//! The threads of runs: sessions that callers name, in a store that the operator names.
//!
//! # Design
//! **A thread is a session.** A run in a thread reads it once, by a recorded activity before its
//! first turn, and replay reads nothing. New items are written as in every session: the input when
//! the run begins, then each turn when it is complete, and after a failure or a cancellation what
//! is left. The alternative, one write at the end, needs an activity less for each turn, but a run
//! that is terminated, or that times out, would leave nothing in its thread. Each write has a key
//! of its own, so that every item is stored once, however often an activity is repeated.
//!
//! **Runs of one thread at the same time** do not see each other's items, and their turns lie in
//! the thread in the order in which they were completed.

use super::agent_set::{AgentSet, invalid_input_error};
use crate::{drive::SessionRef, engine::RunError, workflow::continuing::refused};

/// The store of the threads of a set of agents.
#[derive(Clone, Debug)]
pub(super) struct ThreadStore {
    store: String,
    limit: Option<u32>,
}

impl AgentSet {
    /// Lets callers name a [thread](crate::wire::AgentRequest::thread) for a run: a session in the
    /// store with this name, which the workers have registered with `Resources::session_store`. The
    /// run begins with the thread's conversation, and adds its own items to it. Without a store, a
    /// run with a thread fails.
    ///
    /// A caller with permission to start the workflow may name any thread, and with it reads the
    /// conversation of that thread through the model. A session in the
    /// [configuration](Self::config) is not used for runs with a thread. Chats keep their
    /// conversation themselves and have no thread.
    ///
    /// # Determinism
    /// This may be added, and the store may change, while runs are open: a run that continues as
    /// new writes to the new store. Do not remove it while runs with threads are open.
    #[must_use]
    pub fn thread_store(mut self, store: impl Into<String>) -> Self {
        let limit = self.threads.and_then(|threads| threads.limit);
        self.threads = Some(ThreadStore { store: store.into(), limit });
        self
    }

    /// Makes runs of a [`thread_store`](Self::thread_store) begin with only so many of the latest
    /// items of their thread. Default: with all.
    #[must_use]
    pub fn thread_limit(mut self, items: u32) -> Self {
        self.threads = self.threads.map(|threads| ThreadStore { limit: Some(items), ..threads });
        self
    }

    /// Returns the session of a thread that a caller has named.
    ///
    /// # Errors
    /// [`RunError::Refused`] without a store, and an error for an empty name.
    pub(crate) fn thread_session(&self, agent: &str, thread: Option<&str>) -> Result<Option<SessionRef>, RunError> {
        let Some(thread) = thread else { return Ok(None) };
        if thread.is_empty() {
            return Err(invalid_input_error(agent, "\"thread\" is empty: leave it out, or name a thread".to_owned()));
        }
        let Some(ThreadStore { store, limit }) = self.threads.clone() else {
            let what = format!("thread {thread:?}");
            let reason = "the workflow has no store for threads; AgentSet::thread_store names one";
            return Err(refused(agent, &what, reason));
        };
        Ok(Some(SessionRef::Stored { store, session_id: thread.to_owned(), limit }))
    }
}
