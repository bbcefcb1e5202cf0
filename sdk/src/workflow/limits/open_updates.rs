//! The budget for open update handlers of a workflow.
//!
//! The server admits only so many updates that have no result yet. A handler that waits for an answer holds one of these places, so
//! handlers that wait are few, and the rest stays free for decisions: an approval must never wait for the messages that wait for it.
//!
//! # Design
//! The server admits 10 updates without a result. They are divided: 4 messages of a chat, 4 polls
//! of streams, the rest for decisions.

/// The updates of one execution that the server admits at a time (`history.maxInFlightUpdates`, 10 by default and in Temporal Cloud).
const OPEN_UPDATES: usize = 10;
/// Most handlers of `chat_send` that wait for an answer at a time.
pub(in crate::workflow) const HELD_MESSAGES: usize = 4;
/// Most handlers that wait at a time for what a stream has next.
const HELD_STREAM_POLLS: usize = 4;

const _: () = assert!(HELD_MESSAGES + HELD_STREAM_POLLS < OPEN_UPDATES, "decisions need a place");
