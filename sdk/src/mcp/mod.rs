//! Servers of the Model Context Protocol (MCP), as the worker reaches them.
//!
//! | file | what it holds |
//! |---|---|
//! | `transport.rs` | how a server is reached: a child process, HTTP, in this process, or what a factory says |
//! | `value.rs` | the value of a header or a variable, which may be a reference to a variable of the worker |
//! | `connections.rs` | the connections of one server: opened when needed, shared, closed when idle, replaced when lost |
//! | `sessions.rs` | the sessions of runs with stateful servers: connections that are replaced by nobody |
//! | `client.rs` | what a server is told of this client, and what it is answered when it asks people |
//! | `connect.rs` | opens one |
//! | `group.rs` | the program of a server and what it has started, which end together |
//! | `credentials.rs` | which strings of a transport are kept out of what its server answers |
//! | `call.rs` | calls of tools, as bodies of activities |
//! | `ask.rs` | lists, prompts and resources |
//! | `listed.rs` | what a list has so far, and its limits |
//! | `left_out.rs` | which listed tools are left out, because their schemas are too large |
//! | `content.rs` | what a tool returned, as the model gets it |
//! | `failure.rs` | what goes wrong |
//! | `activities.rs` | the activities |
//!
//! Addresses, commands, headers and environments stay here: none of them is in a request or a failure, and credentials among them are in no
//! reply of a server that quotes them.
//!
//! # Design
//! Lists lose icons and output schemas before they are recorded. Calls of a server that asks people
//! have connections of their own, one call at a time on each, because a question does not say to
//! which call it belongs. No activity waits for a person, so a stateless server suffices: the call
//! is made anew with the answers, as the activity `<id>-asked-<n>`.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "activities run once, outside of workflows: clock, environment and tasks are theirs to use"
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
pub use transport::{McpHttp, McpStdio, McpStream, McpTransport};
pub use value::McpValue;
