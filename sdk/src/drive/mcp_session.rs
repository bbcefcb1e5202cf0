//! The sessions of a run with stateful MCP servers: opened when first needed, one for each server, closed at the run's end.
//!
//! They are the run's own: a run inside it has others. A run that pauses or moves takes them along in its state.
//!
//! # Design
//! The activity `open_session`, on the server's task queue, connects, makes the set-up calls, and
//! returns an id and the queue of the private worker that `worker/agents_worker.rs` runs beside the
//! main one. Lists and calls are activities on that queue, with one attempt, one call after
//! another; `close_session` is the last action of a run, however it ends. A call that the private
//! worker does not take in time, whose heartbeats end, or whose connection broke
//! (`McpError.SessionLost`) reports the session as lost; the driver then follows the server's
//! terms, and knows whether the call had begun.
//!
//! Sessions belong to a run, not to the runs inside it: these run at the same time, and would
//! change each other's state.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
};

use super::{
    env::Env,
    host::{Host, McpEffect, McpEffectError},
};
use crate::{
    engine::EffectError,
    tool::{McpServer, Reestablish},
    wire::McpSession,
};

/// How often a call, or a list, is tried in a new session.
const MOST_AGAIN: u32 = 3;

/// The session of a run with a stateful MCP server is gone, and its state with it.
#[derive(Debug, thiserror::Error)]
#[error(
    "the session with MCP server {server:?} was lost: {source}; Reestablish::ReplaySetUp opens another one where the set-up is all the \
     state there is, OnToolError::by_kind tells the model"
)]
pub struct McpSessionLost {
    /// The server.
    pub server: String,
    /// What the host heard last.
    pub source: EffectError,
}

/// The sessions of one run.
#[derive(Default)]
pub(super) struct McpSessions {
    open: RefCell<Vec<McpSession>>,
    /// How many were opened, by the runs around it and inside it, too: a part of the ids of their activities.
    opened: Rc<Cell<u32>>,
}

impl McpSessions {
    /// None, for a run inside this one.
    pub(super) fn of_nested(&self) -> Self {
        Self { open: RefCell::default(), opened: Rc::clone(&self.opened) }
    }

    /// Takes over what a state has brought.
    pub(super) fn take_over(&self, sessions: Vec<McpSession>) {
        self.open.borrow_mut().extend(sessions);
    }

    /// All of them; none is left.
    pub(super) fn take(&self) -> Vec<McpSession> {
        self.open.take()
    }

    fn known(&self, server: &McpServer) -> Option<McpSession> {
        let is_with =
            |open: &&McpSession| open.server == server.name() && open.argument.as_ref() == server.factory_argument();
        self.open.borrow().iter().find(is_with).cloned()
    }

    /// Forgets one that is lost.
    fn forget(&self, lost: &McpSession) {
        self.open.borrow_mut().retain(|open| open.id != lost.id);
    }

    fn next(&self) -> u32 {
        let number = self.opened.get();
        self.opened.set(number + 1);
        number
    }
}

/// Whose sessions are asked for.
#[derive(Clone, Copy)]
pub(super) struct Asking<'a> {
    pub(super) agent: &'a str,
    pub(super) turn: u32,
}

/// The session with a server, if it is stateful; opens one if there is none.
pub(super) async fn session<H: Host>(
    env: &Env<'_, H>,
    server: &McpServer,
    asking: Asking<'_>,
    scope: &H::Scope,
) -> Result<Option<McpSession>, McpEffectError> {
    if server.session_terms().is_none() {
        return Ok(None);
    }
    if let Some(known) = env.mcp_sessions.known(server) {
        return Ok(Some(known));
    }
    let id = env.effect(format_args!("mcp-session-{}", env.mcp_sessions.next()));
    let Asking { agent, turn } = asking;
    let opened = env.host.open_mcp_session(McpEffect { server, id, agent, turn, session: None }, scope).await?;
    env.mcp_sessions.open.borrow_mut().push(opened.clone());
    Ok(Some(opened))
}

/// What is done about a session that was lost the so-manieth time for one call or list, counted from 1.
///
/// # Errors
/// [`McpSessionLost`] where no other is to be opened.
pub(super) fn lost<H: Host>(
    env: &Env<'_, H>,
    server: &McpServer,
    session: Option<&McpSession>,
    time: u32,
    source: EffectError,
) -> Result<(), McpSessionLost> {
    if let Some(session) = session {
        env.mcp_sessions.forget(session);
    }
    let reestablish = server.session_terms().map(|terms| terms.reestablish);
    if reestablish == Some(Reestablish::ReplaySetUp) && time <= MOST_AGAIN {
        return Ok(());
    }
    Err(McpSessionLost { server: server.name().to_owned(), source })
}

/// Closes sessions, one after another. Nobody hears of one that cannot be closed: its worker closes it when it has been idle for long enough.
pub(super) async fn close<H: Host>(env: &Env<'_, H>, sessions: Vec<McpSession>) {
    for session in sessions {
        let id = env.effect(format_args!("mcp-close-{}", env.mcp_sessions.next()));
        env.host.close_mcp_session(session, id).await;
    }
}
