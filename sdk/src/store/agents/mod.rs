//! Stores of agents as data: specs, each with its versions.
//!
//! | file | contents |
//! |---|---|
//! | this file | the trait that an author implements |
//! | `reach.rs` | a spec with all specs that its handoffs reach |

mod reach;

use std::{fmt, sync::Arc, time::SystemTime};

use futures::future::BoxFuture;
use serde_json::Value;
use temporal_agents_core::{tool::BoxError, wire::error_debug};

pub(crate) use self::reach::{LoadError, Loaded, Start, load};

/// A store of agents as data, from which the worker loads the specs of runs, and which the service
/// lists and edits. `Resources::agent_store` registers it.
///
/// Versions of a spec are counted from 1, without gaps, and are never changed or removed: a store
/// keeps a row for each. `SqlStore` implements it; `MemoryAgentStore` of the crate
/// `temporal-agents-testing` is for tests.
///
/// # Retries
/// An error of a worker's read is retried for hours: a run does not fail because its store is
/// unavailable for a while.
pub trait AgentStore: Send + Sync {
    /// Returns the newest version of each agent, ordered by the bytes of their names: those after
    /// `after`, at most `limit`.
    fn list<'a>(&'a self, after: Option<&'a str>, limit: u32) -> BoxFuture<'a, Result<Vec<AgentVersion>, BoxError>>;

    /// Returns the versions of an agent, newest first: those before `before`, at most `limit`. An
    /// unknown agent has none.
    fn versions<'a>(
        &'a self,
        name: &'a str,
        before: Option<u32>,
        limit: u32,
    ) -> BoxFuture<'a, Result<Vec<AgentVersion>, BoxError>>;

    /// Returns a version of an agent with the JSON of its spec; the newest one if `version` is
    /// `None`.
    fn read<'a>(
        &'a self,
        name: &'a str,
        version: Option<u32>,
    ) -> BoxFuture<'a, Result<Option<(AgentVersion, Value)>, BoxError>>;

    /// Adds a version of an agent, if the newest one is `newest` (0 = there is none), and returns
    /// it. Writers that run at the same time add one version, and the others fail.
    ///
    /// # Errors
    /// [`PutAgentError`].
    fn put<'a>(
        &'a self,
        name: &'a str,
        spec: &'a Value,
        newest: u32,
        author: Option<&'a str>,
    ) -> BoxFuture<'a, Result<AgentVersion, PutAgentError>>;
}

/// A version of an agent as data, without its spec.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AgentVersion {
    /// Name of the agent.
    pub name: String,
    /// The version, counted from 1.
    pub version: u32,
    /// Time at which the version was stored.
    pub created_at: SystemTime,
    /// Name of the person who stored the version, if it is known.
    pub author: Option<String>,
}

impl AgentVersion {
    /// Returns a version of an agent.
    pub fn new(name: impl Into<String>, version: u32, created_at: SystemTime, author: Option<String>) -> Self {
        Self { name: name.into(), version, created_at, author }
    }
}

/// The reason that a version was not added.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum PutAgentError {
    /// Another version was added in the meantime. The version that was to be added is not stored.
    #[error("the newest version of the agent is {newest}; read it, and store your change after it")]
    Conflict {
        /// The newest version; 0 if there is none.
        newest: u32,
    },
    /// The store is unavailable, or refuses. The version may be stored nevertheless.
    #[error("the store of agents has failed: {0}")]
    Store(#[from] BoxError),
}

error_debug!(enum PutAgentError {
    Conflict { newest },
    Store(source),
});

/// The store of a worker or a service; `None` if it has no store.
#[derive(Clone, Default)]
pub(crate) struct OptionalAgentStore(pub(crate) Option<Arc<dyn AgentStore>>);

impl fmt::Debug for OptionalAgentStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "AgentStore" } else { "None" })
    }
}
