//! Stores of sessions: conversations that outlive runs.

use std::{collections::BTreeMap, sync::Arc};

use futures::future::BoxFuture;

use crate::{tool::Failure, wire::Item};

/// A store of sessions. A durable run reads and writes it through activities, an inline run directly.
///
/// Implement it for a database; `SessionRef::stored(name, session_id)` makes a run use it.
///
/// # Retries
/// An error is retried for hours, a run does not end because its store is down for a while. A write may therefore come twice:
/// [`add`](Session::add) must leave out what it has written under the same key.
///
/// # Size
/// A durable run reads a session of more than 2 MB in portions, an activity each, and each of them calls [`items`](Session::items) anew. Other
/// runs may add items in between: the run gets what was there at its first read. So items stay as they are and in their
/// order. One that is changed or removed between two portions fails the read, and with it the run. One item of more than 2 MB
/// cannot be read. To save reads, set a limit.
pub trait Session: Send + Sync {
    /// The items of a session, oldest first; only the latest where there is a limit. An unknown session is empty.
    fn items<'a>(&'a self, session_id: &'a str, limit: Option<u32>) -> BoxFuture<'a, Result<Vec<Item>, Failure>>;

    /// Adds items at the end of a session, unless a write with this key was made before. All attempts of a write have one key; a
    /// workflow that is reset has others.
    fn add<'a>(&'a self, session_id: &'a str, items: Vec<Item>, key: &'a str) -> BoxFuture<'a, Result<(), Failure>>;
}

/// The stores of a worker, by name.
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
