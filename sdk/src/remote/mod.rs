//! Tools that providers outside of Temporal offer over streams: the protocol of a tool registry,
//! and its transports.
//!
//! A provider that can be a Temporal worker needs none of this: an activity on a task queue of its
//! own (`tool::RemoteActivity`) has leases, retries, heartbeats and cancellation already. Streams
//! are for providers that cannot be one: in another language without an SDK, behind a broker that
//! is there anyway.
//!
//! An agent has such tools by [`tool::RemoteToolset`](temporal_agents_core::tool::RemoteToolset); a
//! [`worker::ToolProvider`](crate::worker::ToolProvider) offers tools of this library to others.
//!
//! | room | what is in it |
//! |---|---|
//! | [`message`] | the messages, as JSON |
//! | [`transport`] | streams in memory and in Redis (feature `redis`) |
//! | `answer` | the result of a call as the output of a tool |
//! | `executor` | one call, from the caller's side: published once, its result awaited |
//! | `one_call` | what calls over streams and calls of devices have in common |
//! | `marks` | the streams of one call, which keep it from beginning twice or too late |
//! | `providers_at_work` | which toolsets have a provider, before a call is published |
//! | `publish` | pings |
//! | `source`, `find_activity` | the toolsets that are selected for a run |
//! | [`gateway`] | registered toolsets, and calls that are checked before they are published |
//! | [`device`] | machines of people, whose connections one process holds |
//! | `activities` | the activity that makes a call |
//! | `batches` | deltas of a call or a task in a stream |
//! | `clock` | the clock of gateways and of streams in memory |

#![allow(
    clippy::disallowed_methods,
    reason = "the worker half runs outside of workflows: it may use clocks and timers"
)]

mod activities;
mod answer;
mod batches;
mod clock;
pub mod device;
mod executor;
mod find_activity;
pub mod gateway;
mod marks;
pub mod message;
mod one_call;
mod providers_at_work;
mod publish;
mod source;
pub mod transport;
mod transports;

pub use self::source::{ToolsetQuery, ToolsetSource};
pub(crate) use self::{
    activities::activities,
    answer::OUTCOME_UNKNOWN_CODE,
    batches::{BATCH_INTERVAL, BatchWriter, read_batches},
    device::DEVICES,
    find_activity::find_activity,
    marks::{CallStreams, GivenUp},
    providers_at_work::{ANNOUNCEMENT_INTERVAL, PROVIDER_GROUP, announcement},
    source::ToolsetSources,
    transports::{ToolTransport, ToolTransports},
};
