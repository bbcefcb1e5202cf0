//! The traits of stores that an author provides, and stores in databases.
//!
//! [`Session`] keeps conversations between runs, [`SpillStore`] outputs that are too large for
//! history, [`AgentStore`] agents as data, [`DecisionStore`] decisions that hold beyond their run,
//! [`QuestionStore`] questions of sessions that any process decides.
//! `Resources::session_store`, `spill_store`, `agent_store` and `decision_store` register them.
//! `SqlStore`, in PostgreSQL (feature `postgres`) or SQLite (feature `sqlite`), is all of them but
//! a spill store, and has the rows of runs.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the worker half runs outside of workflows: it may use clock, environment and tasks"
)]

mod agents;
mod decisions;
mod questions;
mod session;
mod spill;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(crate) mod sql;

pub use agents::{AgentStore, AgentVersion, PutAgentError};
pub(crate) use agents::{LoadError, Loaded, OptionalAgentStore, Start, load};
pub(crate) use decisions::OptionalDecisionStore;
pub use decisions::{DecisionStore, StoredDecision};
#[cfg(feature = "http")]
pub(crate) use questions::OptionalQuestionStore;
pub use questions::{QuestionStore, StoredQuestion};
pub use session::Session;
pub(crate) use session::Sessions;
pub(crate) use spill::OptionalSpillStore;
pub use spill::{SpillStore, SpilledOutput};
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub use sql::{SqlStore, SqlStoreError};
