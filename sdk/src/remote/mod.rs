//! Tools that providers outside of Temporal offer over streams: the protocol of a tool registry.
//!
//! A provider that can be a Temporal worker needs none of this: an activity on a task queue of its
//! own (`tool::RemoteActivity`) has leases, retries, heartbeats and cancellation already. Streams
//! are for providers that cannot be one: in another language without an SDK, behind a broker that
//! is there anyway.
//!
//! | room | what is in it |
//! |---|---|
//! | [`message`] | the messages, as JSON |

pub mod message;
