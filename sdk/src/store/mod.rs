//! The traits of stores that an author provides.
//!
//! [`Session`] keeps conversations between runs, [`SpillStore`] outputs that are too large for
//! history. `Resources::session_store` and `Resources::spill_store` register them.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the worker half runs outside of workflows: it may use clock, environment and tasks"
)]

mod session;
mod spill;

pub use session::Session;
pub(crate) use session::Sessions;
pub(crate) use spill::OptionalSpillStore;
pub use spill::{SpillStore, SpilledOutput};
