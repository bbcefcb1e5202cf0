//! The traits of stores that an author provides, and stores in databases.
//!
//! [`Session`] keeps conversations between runs, [`SpillStore`] outputs that are too large for
//! history, [`AgentStore`] agents as data. `Resources::session_store`, `Resources::spill_store` and
//! `Resources::agent_store` register them. `SqlStore`, in PostgreSQL (feature `postgres`) or SQLite
//! (feature `sqlite`), is a session store and an agent store, and has the rows of runs.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the worker half runs outside of workflows: it may use clock, environment and tasks"
)]

mod agents;
mod session;
mod spill;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(crate) mod sql;

pub use agents::{AgentStore, AgentVersion, PutAgentError};
pub(crate) use agents::{LoadError, Loaded, OptionalAgentStore, Start, load};
pub use session::Session;
pub(crate) use session::Sessions;
pub(crate) use spill::OptionalSpillStore;
pub use spill::{SpillStore, SpilledOutput};
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub use sql::{SqlStore, SqlStoreError};
