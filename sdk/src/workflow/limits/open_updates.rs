//! The budget for open update handlers of a workflow.
//!
//! The server admits a limited number of updates that have no result yet. A handler that waits for
//! an answer holds one of these places, so only few handlers may wait, and the rest stays free for
//! decisions: an approval must never wait for the messages that wait for it.
//!
//! # Design
//! The server admits 10 updates without a result. They are divided: 4 messages of a chat, 4 polls
//! of streams, the rest for decisions.

/// Number of updates of one execution that the server admits at a time
/// (`history.maxInFlightUpdates`, 10 by default and in Temporal Cloud).
const OPEN_UPDATES: usize = 10;
/// Maximum number of `chat_send` handlers that wait for an answer at a time.
pub(in crate::workflow) const MAX_HELD_MESSAGES: usize = 4;
/// Maximum number of handlers that wait at a time for the next part of a stream without a time
/// limit; the others return without an item after a while.
pub(in crate::workflow) const HELD_STREAM_POLLS: usize = 4;

const _: () = assert!(MAX_HELD_MESSAGES + HELD_STREAM_POLLS < OPEN_UPDATES, "decisions need a place");
