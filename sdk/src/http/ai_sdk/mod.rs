//! Runs as UI message streams of the AI SDK: the protocol of `useChat` and of the frontends that
//! are built on it.
//!
//! | file | content |
//! |---|---|
//! | `chunk.rs` | the chunks of a stream, as JSON |
//! | `mapper.rs` | maps the events of a run to chunks |
//! | `request.rs` | the request of a page: messages, decisions, outputs |
//!
//! Pure: no I/O, no clock, and no types of HTTP.
//!
//! # Source
//! `uiMessageChunkSchema` and `processUIMessageStream` of `ai` 6 and 7. A client ends the stream
//! with an error if a chunk has an unknown type, or null in an optional member, or if it refers to
//! a part that the message does not have.

pub(in crate::http) mod chunk;
pub(in crate::http) mod mapper;
pub(in crate::http) mod request;
