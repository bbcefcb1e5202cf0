//! Runs, their events and their messages as rows.
//!
//! | table | content |
//! |---|---|
//! | `agents_runs` | a run with its status; the place of the latest event that was written |
//! | `agents_run_events` | the facts of a run, by run and sequence number |
//! | `agents_messages` | the messages of a run or a chat, by the event that contains them |
//!
//! | file | content |
//! |---|---|
//! | `row.rs` | a row of `agents_runs` |
//! | `write.rs` | writes the next events, and the end |
//! | `messages.rs` | the messages in events |
//! | `start.rs` | inserts runs, and runs whose start has failed |
//! | `read.rs` | reads runs and events |
//!
//! # Design
//! **One update claims the place of the next events.** Events are inserted in the transaction that
//! moves `sequence` of their run from the value which the writer has read. Of two writers one moves
//! it, and the other reads the row again: no event is written twice, and none is left out. It needs
//! no lock, and is the same in both databases.
//!
//! **The rows hold what the reader of the history could decode,** in plain text, and no more: a
//! process whose client lacks the codec writes events without their content.

mod messages;
mod read;
mod row;
mod start;
mod write;

#[cfg(any(feature = "http", test))]
pub(crate) use self::start::FailedStart;
pub(crate) use self::{
    read::{RunFilter, StoredEvent, rfc3339},
    row::{COLUMNS, LISTED, ListedRun, RunRow, millis},
    start::insert,
    write::{Appended, NewEvents, RunEnd, append, is_stored, row_after},
};

/// Returns the placeholders `$from`, `$from + 1`, ... for a list of this length.
fn placeholders(from: usize, count: usize) -> String {
    (from..from + count).map(|number| format!("${number}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
