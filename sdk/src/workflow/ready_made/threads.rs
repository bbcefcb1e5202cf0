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
//! **A chat in a thread reads it with its first message.** From then on it has the conversation
//! itself, and only writes. So a chat whose workflow has ended continues in another execution, from
//! what the store has. If the first read fails, the message is answered with the failure, and the
//! next message reads again.
//!
//! **Runs of one thread at the same time** do not see each other's items, and their turns lie in
//! the thread in the order in which they were completed.

use super::agent_set::{AgentSet, invalid_input_error};
use crate::{
    drive::{RunInput, SessionRef},
    engine::RunError,
    wire::Item,
    workflow::continuing::refused,
};

/// The store of the threads of a set of agents.
#[derive(Clone, Debug)]
pub(super) struct ThreadStore {
    store: String,
    limit: Option<u32>,
    keeps_chats: bool,
}

impl AgentSet {
    /// Lets callers name a [thread](crate::wire::AgentRequest::thread) for a run: a session in the
    /// store with this name, which the workers have registered with `Resources::session_store`. The
    /// run begins with the thread's conversation, and adds its own items to it. Without a store, a
    /// run with a thread fails.
    ///
    /// A caller with permission to start the workflow may name any thread, and with it reads the
    /// conversation of that thread through the model. A session in the
    /// [configuration](Self::config) is not used for runs with a thread.
    ///
    /// A chat may also name a thread ([`ChatRequest::thread`](crate::wire::ChatRequest::thread));
    /// without one it keeps its conversation in its workflow only, unless the set
    /// [keeps chats](Self::keep_chats).
    ///
    /// # Determinism
    /// This may be added, and the store may change, while runs are open: a run that continues as
    /// new writes to the new store. Do not remove it while runs with threads are open.
    #[must_use]
    pub fn thread_store(mut self, store: impl Into<String>) -> Self {
        let before = self.threads.take();
        let (limit, keeps_chats) = before.map_or((None, false), |before| (before.limit, before.keeps_chats));
        self.threads = Some(ThreadStore { store: store.into(), limit, keeps_chats });
        self
    }

    /// Keeps the conversation of each chat in the [`thread_store`](Self::thread_store), in the thread
    /// with the id of the chat, unless the chat names another one. A service over HTTP that has this
    /// set ([`AgentsService::agents`](crate::http::AgentsService::agents)) then begins a chat anew
    /// whose workflow has ended, also after the server has deleted it: the next message continues the
    /// conversation. Has no effect without a thread store.
    ///
    /// Costs a write (an activity, 3 events) when a message arrives and after each turn, and a read
    /// with the first message.
    ///
    /// # Determinism
    /// This may be added or removed while chats are open: it applies to chats that start later.
    #[must_use]
    pub fn keep_chats(mut self) -> Self {
        self.threads = self.threads.map(|threads| ThreadStore { keeps_chats: true, ..threads });
        self
    }

    /// Returns `true` if each chat has a thread.
    pub(crate) fn keeps_chats(&self) -> bool {
        self.threads.as_ref().is_some_and(|threads| threads.keeps_chats)
    }

    /// Returns the thread of a chat that begins: the one that the caller names, or the one with the
    /// id of the chat if the set keeps chats.
    ///
    /// # Errors
    /// [`RunError::User`] if the request has a conversation, too.
    pub(crate) fn thread_of_chat(
        &self,
        agent: &str,
        id: &str,
        asked: Option<String>,
        conversation: &[Item],
    ) -> Result<Option<String>, RunError> {
        let thread = asked.or_else(|| self.keeps_chats().then(|| id.to_owned()));
        if let (Some(thread), false) = (&thread, conversation.is_empty()) {
            let message = format!(
                "the chat continues the conversation of thread {thread:?}; leave out \"conversation\", or start a run \
                 in the thread that adds these items"
            );
            return Err(invalid_input_error(agent, message));
        }
        Ok(thread)
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
        let Some(ThreadStore { store, limit, keeps_chats: _ }) = self.threads.clone() else {
            let what = format!("thread {thread:?}");
            let reason = "the workflow has no store for threads; AgentSet::thread_store names one";
            return Err(refused(agent, &what, reason));
        };
        Ok(Some(SessionRef::Stored { store, session_id: thread.to_owned(), limit }))
    }
}

/// Returns the input of the run that answers a message of a chat. With a thread, the run reads the
/// conversation if the chat does not have it yet.
pub(crate) fn input_of_message(conversation: Vec<Item>, text: String, has_thread: bool) -> RunInput {
    let message = Item::user(text);
    if has_thread && conversation.is_empty() {
        return RunInput::from(vec![message]);
    }
    if has_thread {
        return RunInput::after_stored(conversation, vec![message]);
    }
    let mut items = conversation;
    items.push(message);
    RunInput::from(items)
}
