//! Stores of the author's: sessions between runs, and outputs too large for history.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "activities run once, outside of workflows: clock, environment and tasks are theirs to use"
)]

mod session;
mod spill;

pub use session::Session;
pub(crate) use session::Sessions;
pub(crate) use spill::OptionalSpillStore;
pub use spill::{SpillStore, SpilledOutput};
