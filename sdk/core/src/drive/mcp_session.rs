//! The sessions of a run with stateful MCP servers: opened when first needed, one for each server,
//! and closed at the end of the run.
//!
//! The sessions belong to one run: a nested run has its own. A run that pauses or continues in
//! another execution keeps them in its state.
//!
//! # Design
//! The activity `open_session`, on the server's task queue, connects, makes the set-up calls, and
//! returns an id and the queue of the private worker that `worker/plugin/agents_worker.rs` runs
//! beside the main one. Lists and calls are activities on that queue, with one attempt, one call
//! after another; `close_session` is the last action of a run, however it ends. A call that the
//! private worker does not start in time, whose heartbeats stop, or whose connection broke
//! (`McpError.SessionLost`) reports the session as lost; the driver then follows the server's
//! terms, and knows whether the call had begun.
//!
//! Sessions belong to a run and are not shared with its nested runs: these run at the same time,
//! and would change each other's state.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
};

use super::{
    env::Env,
    host::{Host, McpEffect, McpEffectError},
};
use crate::{
    tool::{BoxError, McpServer, McpSessionRecovery},
    wire::mcp_call::McpSession,
};

/// Maximum number of new sessions in which one call or one list is retried.
const MAX_REESTABLISHED_SESSIONS: u32 = 3;

/// The session of a run with a stateful MCP server was lost, and its state with it.
#[derive(Debug, thiserror::Error)]
#[error(
    "the session with MCP server {server:?} was lost: {source}; if the set-up calls restore the whole state of the \
     session, use McpSessionRecovery::ReplaySetup; to report the loss to the model, use OnToolError::by_kind"
)]
#[non_exhaustive]
pub struct McpSessionLost {
    /// Name of the MCP server.
    pub server: String,
    /// The host's error at the loss.
    pub source: BoxError,
}

/// The sessions of one run.
#[derive(Default)]
pub(super) struct McpSessions {
    open: RefCell<Vec<McpSession>>,
    /// Number of sessions opened and closed so far, also by the runs around this one and by its
    /// nested runs: a part of the ids of their activities.
    opened: Rc<Cell<u32>>,
}

impl McpSessions {
    /// Creates an empty set of sessions for a nested run, with a shared counter.
    pub(super) fn of_nested(&self) -> Self {
        Self { open: RefCell::default(), opened: Rc::clone(&self.opened) }
    }

    /// Adds the sessions of a restored state.
    pub(super) fn take_over(&self, sessions: Vec<McpSession>) {
        self.open.borrow_mut().extend(sessions);
    }

    /// Removes and returns all open sessions.
    pub(super) fn take(&self) -> Vec<McpSession> {
        self.open.take()
    }

    fn known(&self, server: &McpServer) -> Option<McpSession> {
        let is_with =
            |open: &&McpSession| open.server == server.name() && open.argument.as_ref() == server.factory_argument();
        self.open.borrow().iter().find(is_with).cloned()
    }

    /// Removes a lost session.
    fn forget(&self, lost: &McpSession) {
        self.open.borrow_mut().retain(|open| open.id != lost.id);
    }

    fn next(&self) -> u32 {
        let number = self.opened.get();
        self.opened.set(number + 1);
        number
    }
}

/// The agent and the turn that need a session.
#[derive(Clone, Copy)]
pub(super) struct Asking<'a> {
    pub(super) agent: &'a str,
    pub(super) turn: u32,
}

/// Returns the session with a server, if the server is stateful; opens one if none is open.
pub(super) async fn session<H: Host>(
    env: &Env<'_, H>,
    server: &McpServer,
    asking: Asking<'_>,
    scope: &H::Scope,
) -> Result<Option<McpSession>, McpEffectError> {
    if server.session_options().is_none() {
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

/// Removes a lost session. Returns `Ok` if the caller is to open another one. `time` is the number
/// of sessions lost so far during the same call or list.
///
/// # Errors
/// [`McpSessionLost`] if no other session may be opened.
pub(super) fn lost<H: Host>(
    env: &Env<'_, H>,
    server: &McpServer,
    session: Option<&McpSession>,
    time: u32,
    source: BoxError,
) -> Result<(), McpSessionLost> {
    if let Some(session) = session {
        env.mcp_sessions.forget(session);
    }
    let reestablish = server.session_options().map(|terms| terms.reestablish);
    if reestablish == Some(McpSessionRecovery::ReplaySetup) && time <= MAX_REESTABLISHED_SESSIONS {
        return Ok(());
    }
    Err(McpSessionLost { server: server.name().to_owned(), source })
}

/// Closes sessions, one after another. A session that cannot be closed is not reported: its worker
/// closes it after it has been idle for long enough.
pub(super) async fn close<H: Host>(env: &Env<'_, H>, sessions: Vec<McpSession>) {
    for session in sessions {
        let id = env.effect(format_args!("mcp-close-{}", env.mcp_sessions.next()));
        env.host.close_mcp_session(session, id).await;
    }
}
