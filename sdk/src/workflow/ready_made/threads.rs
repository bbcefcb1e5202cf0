//! The threads of runs: sessions that callers name, in a store that the operator names.
//!
//! # Design
//! **A thread is a session.** A run in a thread reads it once, by a recorded activity before its
//! first turn, and replay reads nothing. New items are written as in every session: the input when
//! its guardrails have admitted it, then each turn when it is complete, and after a failure or a cancellation what
//! is left. The alternative, one write at the end, needs an activity less for each turn, but a run
//! that is terminated, or that times out, would leave nothing in its thread. Each write has a key
//! of its own, so that every item is stored once, however often an activity is repeated.
//!
//! **A chat with a thread reads it with its first message.** Afterwards it holds the conversation itself
//! and only writes. So a chat whose workflow has ended continues in another execution, from what the
//! store has. If the first read fails, the message is answered with the failure, and the next message
//! reads again.
//!
//! **The request names the thread of a chat,** not the set of the worker: the set of a later build may
//! differ, and an open chat must not gain or lose its reads and writes on replay.
//!
//! **Runs of one thread at the same time** do not see each other's items, and their turns lie in
//! the thread in the order in which they were completed.

use temporal_agents_core::{
    drive::{RunInput, SessionRef},
    engine::RunError,
    wire::Item,
};

use super::agent_set::{AgentSet, invalid_input_error};
use crate::workflow::continuing::refused;

/// The store of the threads of a set of agents.
#[derive(Clone, Debug)]
pub(super) struct ThreadStore {
    store: String,
    limit: Option<u32>,
}

impl AgentSet {
    /// Lets callers name a [thread](temporal_agents_core::wire::AgentRequest::thread) for a run: a session in the
    /// store with this name, which the workers have registered with `Resources::session_store`. The
    /// run begins with the thread's conversation, and adds its own items to it. Without a store, a
    /// run with a thread fails.
    ///
    /// A caller with permission to start the workflow may name any thread, and with it reads the
    /// conversation of that thread through the model. A session in the
    /// [configuration](Self::config) is not used for runs with a thread.
    ///
    /// A chat may also name a thread ([`ChatRequest::thread`](temporal_agents_core::wire::ChatRequest::thread));
    /// without one it keeps its conversation in its workflow only, unless the set
    /// [keeps chats](Self::keep_chats).
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

    /// Stores the conversation of each chat in the [`thread_store`](Self::thread_store), in a thread named
    /// by the id of the chat, unless the chat names another thread.
    ///
    /// Whoever starts a chat names its thread, so this is read by a service that has the set
    /// ([`AgentsService::agents`](crate::http::AgentsService::agents)) and by runs in a process. When a
    /// message arrives for a chat whose workflow has ended, or was deleted by the server, the service
    /// starts the chat again, and it continues the conversation. A program that starts a `ChatWorkflow`
    /// by itself sets [`ChatRequest::thread`](temporal_agents_core::wire::ChatRequest::thread).
    ///
    /// Costs one write (an activity, 3 events) for each admitted message and each turn, and one read with
    /// the first message.
    ///
    /// # Determinism
    /// Safe to add and to remove: it applies to chats that start later.
    #[must_use]
    pub fn keep_chats(mut self) -> Self {
        self.keeps_chats = true;
        self
    }

    /// Returns `true` if each new chat has a thread.
    pub(crate) fn keeps_chats(&self) -> bool {
        self.keeps_chats && self.threads.is_some()
    }

    /// Checks that a chat with a thread brings no conversation.
    ///
    /// # Errors
    /// [`RunError::User`].
    pub(crate) fn admit_conversation(
        &self,
        agent: &str,
        thread: Option<&str>,
        conversation: &[Item],
    ) -> Result<(), RunError> {
        match thread {
            Some(thread) if !conversation.is_empty() => {
                let message = format!(
                    "the chat continues the conversation of thread {thread:?}; leave out \"conversation\", or start a \
                     run in the thread that adds these items"
                );
                Err(invalid_input_error(agent, message))
            }
            _ => self.admit_items(agent, "conversation", conversation),
        }
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

/// Returns the input of the run that answers a message of a chat.
pub(crate) fn message_input(mut conversation: Vec<Item>, text: String, has_thread: bool) -> RunInput {
    let message = Item::user(text);
    if !has_thread {
        conversation.push(message);
        return RunInput::from(conversation);
    }
    if conversation.is_empty() {
        // The run reads the thread.
        return RunInput::from(vec![message]);
    }
    RunInput::after_stored(conversation, vec![message])
}

/// Returns `true` if a chat reads its thread again after a message has failed with this error: the store
/// has what the failed run has left. Work that could not be written is in the chat only.
pub(crate) fn rereads_thread(error: &RunError, has_thread: bool) -> bool {
    has_thread && !matches!(error, RunError::Session { .. })
}
