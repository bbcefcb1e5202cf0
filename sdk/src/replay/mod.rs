//! Explains why a build does not reproduce a history, in the author's terms.
//!
//! | file | content |
//! |---|---|
//! | `journal.rs` | the actions of the build while it replays |
//! | `recorded.rs` | the actions in the history |
//! | `change.rs` | the point at which both diverge |
//! | `ready_made.rs` | the replay of a ready-made workflow, without a worker |
//!
//! The testing crate's `ReplayCheck` explains by it before a deploy, a worker's log and the service
//! after one.

mod change;
mod journal;
#[cfg(feature = "http")]
mod ready_made;
mod recorded;

pub(crate) use self::journal::Observer;
#[cfg(feature = "http")]
pub(crate) use self::ready_made::ReadyMadeReplay;
pub use self::{
    change::{ReplayChange, explain},
    journal::{Command, Entry, Journal},
    recorded::{Record, read},
};
