//! The sessions of this process with stateful servers. Each session is a separate connection, for
//! one run.
//!
//! When the connection breaks, or the server has forgotten the session, the session is lost: no new
//! connection replaces it, because its state would be lost without notice.

use std::{
    collections::BTreeMap,
    future::Future,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::{Duration, Instant},
};

use rmcp::{Peer, RoleClient, ServiceError, model::CallToolRequestParams};
use serde_json::Value;
use temporal_agents_core::wire::mcp_call::{McpOpened, McpSetUp};
use tokio::time::sleep;
use uuid::Uuid;

use super::{
    client::Client,
    connect::{OnSessionExpired, Running, Terms},
    connections::Connections,
    content::ResultContent,
    failure::McpFailure,
};
use crate::secret::worker_env::Given;

/// The sessions of a worker, by id.
#[derive(Clone, Default)]
pub(crate) struct McpSessions {
    /// Task queue that only the worker with these sessions serves. Without it, workflows cannot
    /// open sessions.
    task_queue: Option<String>,
    open: Arc<Mutex<BTreeMap<String, Arc<Session>>>>,
}

/// A session, with its connection.
struct Session {
    running: Running,
    /// The variable values that it has received, for its transport and its set-up.
    given: Given,
    last_used: Mutex<Instant>,
}

/// The parameters of a new session: its connection, its set-up calls, and the time after which it
/// is closed when idle.
pub(crate) struct Opening<'o> {
    pub(crate) argument: Option<&'o Value>,
    pub(crate) asks_people: bool,
    pub(crate) set_up: Vec<McpSetUp>,
    pub(crate) idle: Duration,
}

impl McpSessions {
    /// Creates the sessions of a worker that serves this task queue.
    pub(crate) fn on(task_queue: String) -> Self {
        Self { task_queue: Some(task_queue), open: Arc::default() }
    }

    /// `true` if workflows can open sessions.
    pub(crate) fn are_served(&self) -> bool {
        self.task_queue.is_some()
    }

    /// Opens a session, and makes its set-up calls.
    pub(crate) async fn open(&self, server: &Connections, opening: Opening<'_>) -> Result<McpOpened, McpFailure> {
        let Opening { argument, asks_people, set_up, idle } = opening;
        let terms = Terms { argument, asks_people, forgotten: OnSessionExpired::Lost };
        let (running, mut given) = server.open(terms).await?;
        for call in set_up {
            let begun = make_set_up_call(server, &running, call, &mut given).await;
            begun.map_err(|failure| failure.without(&given))?;
        }
        let id = Uuid::new_v4().to_string();
        let session = Arc::new(Session { running, given, last_used: Mutex::new(Instant::now()) });
        tokio::spawn(close_when_idle(Arc::downgrade(&self.open), Arc::downgrade(&session), id.clone(), idle));
        lock(&self.open).insert(id.clone(), session);
        Ok(McpOpened { task_queue: self.task_queue.clone().unwrap_or_default(), session: id })
    }

    /// `true` if the session is open.
    pub(crate) fn has(&self, id: &str) -> bool {
        lock(&self.open).get(id).is_some_and(|session| session.is_open())
    }

    /// Closes the session, if it is open.
    pub(crate) fn close(&self, id: &str) {
        let closed = lock(&self.open).remove(id);
        drop(closed);
    }

    /// Sends a request in the session. If the caller stops waiting for the response, the state of
    /// the session is unknown, and the session is closed.
    pub(super) async fn ask<T, F>(
        &self,
        server: &str,
        id: &str,
        question: &impl Fn(Peer<RoleClient>, Client) -> F,
    ) -> Result<(T, Given), McpFailure>
    where
        F: Future<Output = Result<T, ServiceError>>,
    {
        let lost = |began, reason: String| McpFailure::SessionLost { server: server.to_owned(), began, reason };
        let session = lock(&self.open).get(id).filter(|session| session.is_open()).cloned();
        let Some(session) = session else {
            self.close(id);
            return Err(lost(false, "it was closed, or its worker has begun anew".to_owned()));
        };
        let mut doubt = CloseSessionUnanswered { sessions: self, id, is_unanswered: true };
        let answer = question(session.running.peer().clone(), session.running.service().clone()).await;
        let answer = answer.map_err(|error| McpFailure::from_service_error(server, error).without(&session.given));
        // A refusal is a response; only a request that was lost, or not received, ends the session.
        doubt.is_unanswered = answer.as_ref().is_err_and(McpFailure::is_passing);
        *lock(&session.last_used) = Instant::now();
        match answer {
            Ok(answer) => Ok((answer, session.given.clone())),
            Err(McpFailure::NotReached { reason, .. }) => Err(lost(false, reason)),
            Err(McpFailure::Lost { reason, .. }) => Err(lost(true, reason)),
            Err(failure) => Err(failure),
        }
    }
}

impl Session {
    fn is_open(&self) -> bool {
        !self.running.is_closed() && !self.running.is_transport_closed()
    }
}

/// Makes one of the set-up calls of a session.
async fn make_set_up_call(
    server: &Connections,
    running: &Running,
    call: McpSetUp,
    given: &mut Given,
) -> Result<(), McpFailure> {
    let McpSetUp { tool, mut arguments } = call;
    let filled = server.env().fill_members(&mut arguments, given);
    filled.map_err(|withheld| McpFailure::withheld(server.server(), &withheld))?;
    running.service().redact(given);
    let params = CallToolRequestParams::new(tool.clone()).with_arguments(arguments);
    let result = running
        .peer()
        .call_tool(params)
        .await
        .map_err(|error| McpFailure::from_service_error(server.server(), error))?;
    if result.is_error != Some(true) {
        return Ok(());
    }
    let texts: Vec<_> = result.content.iter().filter(|block| block.as_text().is_some()).collect();
    let content = ResultContent::new(&texts, result.structured_content);
    let reason = content.map_or_else(|error| error.to_string(), |content| content.error().to_text());
    let what = format!("refuses {tool:?}, a set-up call of the session: {reason}");
    Err(McpFailure::Unsupported { server: server.server().to_owned(), what })
}

/// Closes a session if its response did not arrive.
struct CloseSessionUnanswered<'d> {
    sessions: &'d McpSessions,
    id: &'d str,
    is_unanswered: bool,
}

impl Drop for CloseSessionUnanswered<'_> {
    fn drop(&mut self) {
        if self.is_unanswered {
            self.sessions.close(self.id);
        }
    }
}

/// Closes a session that was idle for `idle`.
async fn close_when_idle(
    sessions: Weak<Mutex<BTreeMap<String, Arc<Session>>>>,
    session: Weak<Session>,
    id: String,
    idle: Duration,
) {
    let mut left = idle;
    loop {
        sleep(left).await;
        let (Some(sessions), Some(session)) = (sessions.upgrade(), session.upgrade()) else { return };
        let mut open = lock(&sessions);
        let unused = lock(&session.last_used).elapsed();
        // The map and this task hold one reference each; a request holds another.
        if unused >= idle && Arc::strong_count(&session) <= 2 {
            open.remove(&id);
            return;
        }
        left = idle.saturating_sub(unused).max(Duration::from_millis(10));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
