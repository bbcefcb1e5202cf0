//! The worker's client of Model Context Protocol (MCP) servers.
//!
//! | file | content |
//! |---|---|
//! | `transport.rs` | the transport of a server: child process, HTTP, in-process, from a factory |
//! | `value.rs` | the value of a header or a variable: literal, or a variable of the worker |
//! | `connections.rs` | connections of one server: shared, closed when idle, replaced when lost |
//! | `sessions.rs` | sessions of runs with stateful servers: connections that are never replaced |
//! | `client.rs` | the capabilities of this client, and its answers to elicitation requests |
//! | `connect.rs` | opens a connection |
//! | `group.rs` | the program of a server and its child processes, which end together |
//! | `credentials.rs` | the strings of a transport that are redacted in its server's responses |
//! | `call.rs` | tool calls, as activity bodies |
//! | `ask.rs` | lists, prompts and resources |
//! | `listed.rs` | a list whose pages arrive, and its limits |
//! | `left_out.rs` | leaves out tools with too large schemas, and tools that quote credentials |
//! | `content.rs` | the result of a tool, in the form that the model receives |
//! | `failure.rs` | the errors |
//! | `activities.rs` | the activities |
//!
//! Addresses, commands, headers and environments never leave the worker: none of them is in a
//! request or a failure, and a response of a server that quotes credentials among them is redacted.
//!
//! # Design
//! Icons and output schemas are removed from lists before these are recorded. Calls of a server
//! that may ask a person use separate connections, one call at a time on each, because an
//! elicitation request does not say to which call it belongs. No activity waits for a person, so a
//! stateless server suffices: the call is repeated with the answers, as the activity
//! `<id>-asked-<n>`.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the worker half runs outside of workflows: it may use clock, environment and tasks"
)]

mod activities;
mod ask;
mod call;
mod client;
mod connect;
mod connections;
mod content;
mod credentials;
mod failure;
mod group;
mod left_out;
mod listed;
mod sessions;
mod transport;
mod value;

pub(crate) use activities::activities;
pub(crate) use ask::list_tools;
pub(crate) use call::body;
pub(crate) use connections::{McpServers, On};
pub use failure::McpFailure;
pub(crate) use sessions::{McpSessions, Opening};
pub use transport::{McpHttp, McpStdio, McpTransport};
pub use value::McpValue;
