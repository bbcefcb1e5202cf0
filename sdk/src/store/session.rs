//! Stores of sessions: conversations that outlive runs.

use std::{collections::BTreeMap, sync::Arc};

use futures::future::BoxFuture;
use temporal_agents_core::{tool::BoxError, wire::Item};

/// A store of sessions. A durable run reads and writes it through activities, an inline run
/// directly.
///
/// Implement it for a database; `SessionRef::stored(name, session_id)` makes a run use it.
///
/// # Retries
/// An error is retried for hours: a run does not fail because its store is unavailable for a while.
/// The same write may therefore be requested twice: [`add`](Session::add) must skip items that it
/// has already written under the same key.
///
/// # Size
/// A durable run reads a session of more than 2 MB in portions, with one activity each, and each of
/// them calls [`items`](Session::items) anew. Other runs may add items in between: the run receives
/// the items that existed at its first read. The store must therefore keep items unchanged and in
/// their order. An item that is changed or removed between two portions fails the read, and with it
/// the run. One item of more than 2 MB cannot be read. A limit reduces the number of reads.
pub trait Session: Send + Sync {
    /// Returns the items of a session, oldest first; only the latest ones if there is a limit. An
    /// unknown session is empty.
    fn items<'a>(&'a self, session_id: &'a str, limit: Option<u32>) -> BoxFuture<'a, Result<Vec<Item>, BoxError>>;

    /// Adds items at the end of a session, unless a write with this key was made before. All
    /// attempts at a write have the same key; a workflow that is reset uses other keys.
    fn add<'a>(&'a self, session_id: &'a str, items: Vec<Item>, key: &'a str) -> BoxFuture<'a, Result<(), BoxError>>;
}

/// The session stores of a worker, by name.
#[derive(Clone, Default)]
pub(crate) struct Sessions(BTreeMap<String, Arc<dyn Session>>);

impl Sessions {
    pub(crate) fn add(&mut self, name: impl Into<String>, store: impl Session + 'static) {
        self.0.insert(name.into(), Arc::new(store));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Arc<dyn Session>> {
        self.0.get(name)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&String, &Arc<dyn Session>)> {
        self.0.iter()
    }
}
