//! The connections of a server: opened on demand, shared by concurrent requests, closed when idle.
//!
//! A connection that fails, or on which a caller has stopped waiting for a response, receives no
//! new requests; callers that still wait on it keep it. The next request opens a new connection. A
//! request that fails on a connection which was open before is repeated once on a new one, if the
//! repetition is harmless: the server may have closed the old one long ago, unnoticed.

use std::{
    collections::BTreeMap,
    future::Future,
    mem,
    ops::Deref,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::{Duration, Instant},
};

use rmcp::{Peer, RoleClient, ServiceError};
use serde_json::Value;
use tokio::{sync::Mutex as Turnstile, time::sleep};

use super::{
    client::Client,
    connect::{OnSessionExpired, Running, Terms, open},
    failure::McpFailure,
    sessions::McpSessions,
    transport::McpTransport,
};
use crate::secret::{
    Destination,
    worker_env::{AllowedEnv, Given},
};

/// The time after which an idle connection is closed.
const IDLE: Duration = Duration::from_mins(5);

/// The servers of a worker, by name.
#[derive(Clone)]
pub(crate) struct McpServers {
    servers: BTreeMap<String, Arc<Connections>>,
    idle: Duration,
    env: AllowedEnv,
    sessions: McpSessions,
}

impl Default for McpServers {
    fn default() -> Self {
        let (env, sessions) = (AllowedEnv::default(), McpSessions::default());
        Self { servers: BTreeMap::new(), idle: IDLE, env, sessions }
    }
}

impl McpServers {
    pub(crate) fn add(&mut self, name: String, transport: McpTransport) {
        let (server, slots) = (name.clone(), Arc::default());
        let env = self.env.to([Destination::mcp_server(&name)]);
        let (idle, sessions) = (self.idle, self.sessions.clone());
        let connections = Connections { server, transport, idle, env, sessions, slots };
        self.servers.insert(name, Arc::new(connections));
    }

    /// Sets the time after which idle connections are closed, also for the servers already added.
    pub(crate) fn close_after(&mut self, idle: Duration) {
        self.idle = idle;
        self.renew();
    }

    /// Allows transports to refer to these variables, also those of the servers already added.
    pub(crate) fn allow(&mut self, env: &AllowedEnv) {
        self.env = env.clone();
        self.renew();
    }

    /// Sets the sessions that the servers use.
    pub(crate) fn serve(&mut self, sessions: McpSessions) {
        self.sessions = sessions;
        self.renew();
    }

    /// Returns the sessions with the servers.
    pub(crate) fn sessions(&self) -> &McpSessions {
        &self.sessions
    }

    fn renew(&mut self) {
        let known: Vec<_> = self.servers.values().map(|one| (one.server.clone(), one.transport.clone())).collect();
        for (name, transport) in known {
            self.add(name, transport);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.servers.is_empty()
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Arc<Connections>> {
        self.servers.get(name)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Connections>> {
        self.servers.values()
    }
}

/// The connections of one server, by the parameters with which they are opened.
pub(crate) struct Connections {
    server: String,
    transport: McpTransport,
    idle: Duration,
    env: AllowedEnv,
    sessions: McpSessions,
    slots: Arc<Slots>,
}

/// The slots in use, by argument and by whether the server may ask a person on the connection.
type Slots = Mutex<BTreeMap<Key, Arc<Slot>>>;

type Key = (String, bool);

/// The decision whether a request may be repeated.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Repeat {
    Harmless,
    Never,
}

/// The connection on which a request is sent.
#[derive(Clone, Copy)]
pub(crate) enum On<'o> {
    /// The shared connection of this argument.
    Shared(Option<&'o Value>),
    /// The connection of this argument on which the server may ask a person.
    AsksPeople(Option<&'o Value>),
    /// The connection of this session.
    Session(&'o str),
}

impl<'o> On<'o> {
    /// Returns the session's connection if there is a session, otherwise the shared one of the
    /// argument.
    pub(crate) fn of(argument: Option<&'o Value>, session: Option<&'o str>) -> Self {
        session.map_or(Self::Shared(argument), Self::Session)
    }
}

/// The slot of a shared connection.
#[derive(Default)]
struct Slot {
    opening: Turnstile<()>,
    current: Mutex<Option<Arc<Connection>>>,
}

struct Connection {
    running: Running,
    /// The variable values with which it was opened.
    given: Given,
    last_used: Mutex<Instant>,
}

impl Connections {
    pub(crate) fn server(&self) -> &str {
        &self.server
    }

    pub(super) fn env(&self) -> &AllowedEnv {
        &self.env
    }

    pub(super) fn sessions(&self) -> &McpSessions {
        &self.sessions
    }

    /// Opens a connection that is not shared.
    pub(super) async fn open(&self, terms: Terms<'_>) -> Result<(Running, Given), McpFailure> {
        open(&self.server, &self.transport, terms, &self.env).await
    }

    /// Sends a request to the server, and returns its response with the values to redact in it.
    pub(super) async fn ask<T, F>(
        &self,
        on: On<'_>,
        repeat: Repeat,
        question: impl Fn(Peer<RoleClient>, Client) -> F,
    ) -> Result<(T, Given), McpFailure>
    where
        F: Future<Output = Result<T, ServiceError>>,
    {
        let (argument, asks_people) = match on {
            On::Session(id) => return self.sessions.ask(&self.server, id, &question).await,
            On::Shared(argument) => (argument, false),
            On::AsksPeople(argument) => (argument, true),
        };
        let slot = self.slot(argument, asks_people);
        let (connection, was_open) = self.connection(&slot, argument, asks_people).await?;
        match self.request_on(&slot, connection, &question).await {
            // The server may have closed a connection that was open before.
            Err(McpFailure::NotReached { .. }) if was_open => {}
            Err(McpFailure::Lost { .. }) if was_open && repeat == Repeat::Harmless => {}
            answer => return answer,
        }
        let (connection, _) = self.connection(&slot, argument, asks_people).await?;
        self.request_on(&slot, connection, &question).await
    }

    async fn request_on<T, F>(
        &self,
        slot: &Slot,
        connection: Arc<Connection>,
        question: &impl Fn(Peer<RoleClient>, Client) -> F,
    ) -> Result<(T, Given), McpFailure>
    where
        F: Future<Output = Result<T, ServiceError>>,
    {
        let mut doubt = CloseUnanswered { slot, connection: &connection, is_unanswered: true };
        let answer = question(connection.running.peer().clone(), connection.running.service().clone()).await;
        let answer = answer.map_err(|error| McpFailure::from_service_error(&self.server, error));
        // A refusal is a response; only a request that was lost, or not received, removes the
        // connection.
        doubt.is_unanswered = answer.as_ref().is_err_and(McpFailure::is_passing);
        *lock(&connection.last_used) = Instant::now();
        let given = connection.given.clone();
        match answer {
            Ok(answer) => Ok((answer, given)),
            Err(failure) => Err(failure.without(&given)),
        }
    }

    fn slot(&self, argument: Option<&Value>, asks_people: bool) -> SlotGuard {
        let key = (argument.map(Value::to_string).unwrap_or_default(), asks_people);
        let slot = Arc::clone(lock(&self.slots).entry(key.clone()).or_default());
        SlotGuard { slots: Arc::clone(&self.slots), key, slot }
    }

    /// Returns a connection, and `true` if it was already open.
    async fn connection(
        &self,
        slot: &SlotGuard,
        argument: Option<&Value>,
        asks_people: bool,
    ) -> Result<(Arc<Connection>, bool), McpFailure> {
        if let Some(open) = slot.open() {
            return Ok((open, true));
        }
        let _turn = slot.opening.lock().await;
        if let Some(open) = slot.open() {
            return Ok((open, true));
        }
        let terms = Terms { argument, asks_people, forgotten: OnSessionExpired::Renewed };
        let (running, given) = self.open(terms).await?;
        let connection = Arc::new(Connection { running, given, last_used: Mutex::new(Instant::now()) });
        *lock(&slot.current) = Some(Arc::clone(&connection));
        let slots = Arc::downgrade(&slot.slots);
        tokio::spawn(close_when_idle(slots, slot.key.clone(), Arc::downgrade(&connection), self.idle));
        Ok((connection, false))
    }
}

impl Slot {
    fn open(&self) -> Option<Arc<Connection>> {
        let current = lock(&self.current);
        current.as_ref().filter(|open| !open.running.is_closed() && !open.running.is_transport_closed()).cloned()
    }

    /// Removes this connection from the slot, so that it receives no new requests.
    fn close(&self, connection: &Connection) {
        let mut current = lock(&self.current);
        if current.as_ref().is_some_and(|open| std::ptr::eq(Arc::as_ptr(open), connection)) {
            *current = None;
        }
    }
}

/// A slot in use. The last user of a slot without a connection removes it, since there may be as
/// many arguments as users.
struct SlotGuard {
    slots: Arc<Slots>,
    key: Key,
    slot: Arc<Slot>,
}

impl Deref for SlotGuard {
    type Target = Slot;

    fn deref(&self) -> &Slot {
        &self.slot
    }
}

impl Drop for SlotGuard {
    fn drop(&mut self) {
        // The reference is dropped while the map is locked: of two users that end at the same time,
        // exactly one is then the last.
        let mut slots = lock(&self.slots);
        let slot = mem::take(&mut self.slot);
        let is_empty = lock(&slot.current).is_none();
        drop(slot);
        if is_empty && slots.get(&self.key).is_some_and(|left| Arc::strong_count(left) == 1) {
            slots.remove(&self.key);
        }
    }
}

/// Removes a connection from its slot if its response did not arrive: after a caller has stopped
/// waiting, the state of the connection is unknown.
struct CloseUnanswered<'c> {
    slot: &'c Slot,
    connection: &'c Connection,
    is_unanswered: bool,
}

impl Drop for CloseUnanswered<'_> {
    fn drop(&mut self) {
        if self.is_unanswered {
            self.slot.close(self.connection);
        }
    }
}

/// Closes a connection that was idle for `idle`.
async fn close_when_idle(slots: Weak<Slots>, key: Key, connection: Weak<Connection>, idle: Duration) {
    let mut left = idle;
    loop {
        sleep(left).await;
        let (Some(slots), Some(connection)) = (slots.upgrade(), connection.upgrade()) else { return };
        let Some(slot) = lock(&slots).get(&key).cloned() else { return };
        let slot = SlotGuard { slots, key: key.clone(), slot };
        let mut current = lock(&slot.current);
        let unused = lock(&connection.last_used).elapsed();
        // The slot and this task hold one reference each; a request holds another.
        if unused >= idle && Arc::strong_count(&connection) <= 2 {
            *current = current.take().filter(|open| !Arc::ptr_eq(open, &connection));
            return;
        }
        left = idle.saturating_sub(unused).max(Duration::from_millis(10));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
