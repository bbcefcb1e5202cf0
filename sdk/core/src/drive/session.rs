//! The session of a run: the source of earlier items, and the destination of new ones.
//!
//! # Design
//! **A cancelled run still writes its session.** A write is not cancelled with the run that makes
//! it; after the cancellation it has one minute. A write that is abandoned is not made again,
//! because it may have taken effect.

use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{
    config::RunConfig,
    env::Env,
    guard,
    host::{Host, SessionAction, SessionEffect, SessionEffectError},
};
use crate::{
    agent::AgentInfo,
    engine::{Engine, ReasoningItemIds, RunError, once, without_orphan_calls},
    wire::Item,
};

/// The session of a run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SessionRef {
    /// A session in memory, which has the lifetime of the workflow's state or of the process.
    Memory(MemorySession),
    /// A session in a store that a worker reaches: read and written through activities.
    Stored {
        /// Name of the store, as registered with `Resources::session_store`.
        store: String,
        /// Id of the session in the store.
        session_id: String,
        /// Maximum number of items that are read, the latest ones; `None` means all.
        limit: Option<u32>,
    },
}

impl From<&MemorySession> for SessionRef {
    fn from(session: &MemorySession) -> Self {
        Self::Memory(session.clone())
    }
}

impl From<MemorySession> for SessionRef {
    fn from(session: MemorySession) -> Self {
        Self::Memory(session)
    }
}

impl SessionRef {
    /// Creates a reference to a session in a store that a worker reaches.
    pub fn stored(store: impl Into<String>, session_id: impl Into<String>) -> Self {
        Self::Stored { store: store.into(), session_id: session_id.into(), limit: None }
    }

    /// Returns the name of the session in error messages.
    pub fn name(&self) -> &str {
        match self {
            Self::Memory(_) => "in memory",
            Self::Stored { session_id, .. } => session_id,
        }
    }
}

/// A conversation that is kept in memory. Clones share their items.
///
/// In a workflow it belongs in the workflow's own state: replay rebuilds it, and continue-as-new
/// carries it as part of the new run's input (it is serialized as the list of its items).
#[derive(Clone, Debug, Default)]
pub struct MemorySession(Arc<Mutex<Vec<Item>>>);

impl MemorySession {
    /// Creates a session with these items.
    pub fn new(items: Vec<Item>) -> Self {
        Self(Arc::new(Mutex::new(items)))
    }

    /// Returns the items of the session.
    pub fn items(&self) -> Vec<Item> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Adds items at the end.
    pub fn add(&self, items: Vec<Item>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(items);
    }

    /// Removes all items.
    pub fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl Serialize for MemorySession {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.items().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for MemorySession {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(Self::new)
    }
}

/// Reads the items of the session, or returns none if the run has no session.
///
/// # Errors
/// [`RunError::Session`], or [`RunError::Cancelled`].
pub(super) async fn load<H: Host>(env: &Env<'_, H>) -> Result<Vec<Item>, RunError> {
    match &env.config.session {
        None => Ok(Vec::new()),
        Some(SessionRef::Memory(session)) => Ok(session.items()),
        Some(SessionRef::Stored { store, session_id, limit }) => {
            let at = At { agent: env.graph.start(), turn: 0, verb: "read" };
            call(env, store, session_id, SessionAction::Read { limit: *limit }, at).await
        }
    }
}

/// Adds items to the session, if the run has one.
///
/// # Errors
/// [`RunError::Session`], or [`RunError::Cancelled`].
pub(super) async fn save<H: Host>(env: &Env<'_, H>, engine: &Engine, items: Vec<Item>) -> Result<(), RunError> {
    match &env.config.session {
        None => Ok(()),
        Some(SessionRef::Memory(session)) => {
            session.add(items);
            Ok(())
        }
        Some(SessionRef::Stored { store, session_id, limit: _ }) => {
            let at = At { agent: &engine.state().agent, turn: engine.state().turn, verb: "written" };
            call(env, store, session_id, SessionAction::Add { items }, at).await.map(|_| ())
        }
    }
}

/// The position of a run at a read or a write, for an error message.
struct At<'a> {
    agent: &'a str,
    turn: u32,
    verb: &'static str,
}

async fn call<H: Host>(
    env: &Env<'_, H>,
    store: &str,
    session_id: &str,
    action: SessionAction,
    at: At<'_>,
) -> Result<Vec<Item>, RunError> {
    // A read before the first turn belongs to the first turn.
    let agent = AgentInfo::new(at.agent, at.turn.max(1));
    let effect = SessionEffect { store: store.to_owned(), session_id: session_id.to_owned(), action, agent };
    let scope = env.host.child(&env.scope);
    env.host.call_session(effect, &scope).await.map_err(|error| match error {
        SessionEffectError::Cancelled => RunError::Cancelled { agent: at.agent.to_owned(), turn: at.turn },
        SessionEffectError::Failed(source) => {
            RunError::Session { session: session_id.to_owned(), verb: at.verb, source }
        }
    })
}

/// Builds the input of a run with a session. Returns it with the items that the session does not
/// have yet.
///
/// # Errors
/// [`RunError::Panicked`] of the session input callback.
pub(super) fn prepare(
    config: &RunConfig,
    agent: &str,
    mut stored: Vec<Item>,
    new: Vec<Item>,
) -> Result<(Vec<Item>, Vec<Item>), RunError> {
    if config.reasoning_item_ids == ReasoningItemIds::Omit {
        for item in stored.iter_mut().filter(|item| item.kind() == "reasoning") {
            *item = item.without("id");
        }
    }
    let is_limited = matches!(config.session, Some(SessionRef::Stored { limit: Some(_), .. }));
    let (combined, is_new) = match &config.session_input_callback {
        None => {
            let is_new = std::iter::repeat_n(false, stored.len()).chain(std::iter::repeat_n(true, new.len())).collect();
            (stored.into_iter().chain(new).collect(), is_new)
        }
        Some(callback) => {
            let function = || "the session_input_callback".to_owned();
            let combined = guard::call(function, agent, || callback.merge(stored.clone(), new.clone()))?;
            let is_new = attribute(&combined, stored, new);
            (combined, is_new)
        }
    };
    let appended = combined.iter().zip(&is_new).filter(|(_, new)| **new).map(|(item, _)| item.clone()).collect();
    let kept = without_stored_orphans(combined, &is_new, is_limited && config.session_input_callback.is_none());
    Ok((once(kept), appended))
}

/// Returns for each item that a callback returned if it is new: not among the stored items, each of
/// which is matched once.
fn attribute(combined: &[Item], mut stored: Vec<Item>, mut new: Vec<Item>) -> Vec<bool> {
    let take = |from: &mut Vec<Item>, item: &Item| {
        from.iter().position(|candidate| candidate == item).map(|place| from.remove(place)).is_some()
    };
    // Starts from the end: a stored item may equal a new one, and the later of the two is probably
    // the new one.
    let mut is_new: Vec<bool> = Vec::with_capacity(combined.len());
    for item in combined.iter().rev() {
        is_new.push(take(&mut new, item) || !take(&mut stored, item));
    }
    is_new.reverse();
    is_new
}

/// Drops stored calls that have no output anywhere in the list, with their reasoning. If only the
/// latest items were read, also drops stored outputs whose call was cut off. New items are not
/// changed.
fn without_stored_orphans(items: Vec<Item>, is_new: &[bool], is_limited: bool) -> Vec<Item> {
    let kept = without_orphan_calls(items.clone());
    let has_call =
        |item: &Item| items.iter().any(|call| call.call_id() == item.call_id() && call.kind().ends_with("_call"));
    let mut kept = kept.into_iter().peekable();
    let mut result = Vec::with_capacity(items.len());
    for (item, is_new) in items.iter().zip(is_new) {
        // Both lists have the same order, so the kept items are matched one after another.
        let is_kept = kept.next_if(|next| next == item).is_some();
        let is_cut_off = is_limited && item.kind().ends_with("_output") && !has_call(item);
        if *is_new || (is_kept && !is_cut_off) {
            result.push(item.clone());
        }
    }
    result
}
