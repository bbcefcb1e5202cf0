//! The traits of stores that an author provides, and stores in databases.
//!
//! [`Session`] keeps conversations between runs, [`SpillStore`] outputs that are too large for
//! history. `Resources::session_store` and `Resources::spill_store` register them. `SqlStore` is a
//! session store in PostgreSQL (feature `postgres`) or SQLite (feature `sqlite`).

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the worker half runs outside of workflows: it may use clock, environment and tasks"
)]

mod session;
mod spill;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(crate) mod sql;

pub use session::Session;
pub(crate) use session::Sessions;
pub(crate) use spill::OptionalSpillStore;
pub use spill::{SpillStore, SpilledOutput};
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub use sql::{SqlStore, SqlStoreError};
