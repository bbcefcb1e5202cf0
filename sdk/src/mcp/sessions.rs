//! The sessions that this process holds with stateful servers: each a connection of its own, for one run.
//!
//! A connection that breaks is a session that is lost, and so is one that the server has forgotten: nobody opens another in its place here,
//! for its state would be gone unnoticed.

use std::{
    collections::BTreeMap,
    future::Future,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::{Duration, Instant},
};

use rmcp::{Peer, RoleClient, ServiceError, model::CallToolRequestParams};
use serde_json::Value;
use tokio::time::sleep;
use uuid::Uuid;

use super::{
    client::Client,
    connect::{Forgotten, Running, Terms},
    connections::Connections,
    failure::McpFailure,
};
use crate::{
    secret::worker_env::Given,
    wire::{McpOpened, McpSetUp},
};

/// The sessions of a worker, by id.
#[derive(Clone, Default)]
pub(crate) struct McpSessions {
    /// The queue of the worker that serves them, and of no other; without one none can be opened by a workflow.
    task_queue: Option<String>,
    open: Arc<Mutex<BTreeMap<String, Arc<Session>>>>,
}

/// One of them.
struct Session {
    running: Running,
    /// The values of variables that it was given, for the way to the server and for the set-up.
    given: Given,
    last_used: Mutex<Instant>,
}

/// What a session begins with, and how long it is kept.
pub(crate) struct Opening<'o> {
    pub(crate) argument: Option<&'o Value>,
    pub(crate) asks_people: bool,
    pub(crate) set_up: Vec<McpSetUp>,
    pub(crate) idle: Duration,
}

impl McpSessions {
    /// Those of a worker that serves them on this queue.
    pub(crate) fn on(task_queue: String) -> Self {
        Self { task_queue: Some(task_queue), open: Arc::default() }
    }

    /// Whether a workflow can have them.
    pub(crate) fn are_served(&self) -> bool {
        self.task_queue.is_some()
    }

    /// Opens one, and makes the calls that begin it.
    pub(crate) async fn open(&self, server: &Connections, opening: Opening<'_>) -> Result<McpOpened, McpFailure> {
        let Opening { argument, asks_people, set_up, idle } = opening;
        let terms = Terms { argument, asks_people, forgotten: Forgotten::Lost };
        let (running, mut given) = server.open(terms).await?;
        for call in set_up {
            let begun = begin_with(server, &running, call, &mut given).await;
            begun.map_err(|failure| failure.without(&given))?;
        }
        let id = Uuid::new_v4().to_string();
        let session = Arc::new(Session { running, given, last_used: Mutex::new(Instant::now()) });
        tokio::spawn(close_when_idle(Arc::downgrade(&self.open), Arc::downgrade(&session), id.clone(), idle));
        lock(&self.open).insert(id.clone(), session);
        Ok(McpOpened { task_queue: self.task_queue.clone().unwrap_or_default(), session: id })
    }

    /// Whether it is there.
    pub(crate) fn has(&self, id: &str) -> bool {
        lock(&self.open).get(id).is_some_and(|session| session.is_open())
    }

    /// Closes it, if it is there.
    pub(crate) fn close(&self, id: &str) {
        let closed = lock(&self.open).remove(id);
        drop(closed);
    }

    /// Asks in it. Whoever stops waiting for the answer leaves it in doubt, and so it is closed.
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
        let mut doubt = Doubt { sessions: self, id, is_unanswered: true };
        let answer = question(session.running.peer().clone(), session.running.service().clone()).await;
        let answer = answer.map_err(|error| McpFailure::of_asking(server, error).without(&session.given));
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

/// Makes one of the calls that begin a session.
async fn begin_with(
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
    let result =
        running.peer().call_tool(params).await.map_err(|error| McpFailure::of_asking(server.server(), error))?;
    if result.is_error != Some(true) {
        return Ok(());
    }
    let texts =
        result.content.iter().filter_map(|block| Some(serde_json::to_value(block).ok()?["text"].as_str()?.to_owned()));
    let what = format!("refuses {tool:?}, which is to begin a session: {}", texts.collect::<Vec<_>>().join("\n"));
    Err(McpFailure::Unsupported { server: server.server().to_owned(), what })
}

/// A session in which an answer is awaited.
struct Doubt<'d> {
    sessions: &'d McpSessions,
    id: &'d str,
    is_unanswered: bool,
}

impl Drop for Doubt<'_> {
    fn drop(&mut self) {
        if self.is_unanswered {
            self.sessions.close(self.id);
        }
    }
}

/// Waits until nobody has used the session for so long.
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
        // The map has one, and this task another.
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
