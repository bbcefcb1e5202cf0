//! Tools that providers outside of Temporal offer over streams: the protocol of a tool registry,
//! and its transports.
//!
//! A provider that can be a Temporal worker needs none of this: an activity on a task queue of its
//! own (`tool::RemoteActivity`) has leases, retries, heartbeats and cancellation already. Streams
//! are for providers that cannot be one: in another language without an SDK, behind a broker that
//! is there anyway.
//!
//! An agent has such tools by [`tool::RemoteToolset`](crate::tool::RemoteToolset); a
//! [`worker::ToolProvider`](crate::worker::ToolProvider) offers tools of this library to others.
//!
//! | room | what is in it |
//! |---|---|
//! | [`message`] | the messages, as JSON |
//! | [`transport`] | streams in memory and in Redis (feature `redis`) |
//! | `answer` | the result of a call as the output of a tool |
//! | `executor` | one call, from the caller's side: published once, its result awaited |
//! | `publish` | what is appended for a call |
//! | [`gateway`] | registered toolsets, and calls that are checked before they are published |
//! | `activities` | the activity that runs the executor |

#![allow(
    clippy::disallowed_methods,
    reason = "the worker half runs outside of workflows: it may use clocks and timers"
)]

mod activities;
mod answer;
mod executor;
pub mod gateway;
pub mod message;
mod publish;
pub mod transport;
mod transports;

pub(crate) use self::{
    activities::activities, answer::OUTCOME_UNKNOWN_CODE, executor::body, transports::ToolTransports,
};
