//! Explains why a build does not reproduce a history, in the author's terms.
//!
//! | file | content |
//! |---|---|
//! | `journal.rs` | the actions of the build while it replays |
//! | `recorded.rs` | the actions in the history |
//! | `change.rs` | the point at which both diverge |
//!
//! The testing crate's `ReplayCheck` explains by it before a deploy, a worker's log and the service
//! after one.

mod change;
mod journal;
mod recorded;

pub(crate) use self::journal::Observer;
pub use self::{
    change::{ReplayChange, explain},
    journal::{Command, Entry, Journal},
    recorded::{Record, read},
};
