//! Deltas of a worker's activities: tokens of models, and output, progress and values of tools,
//! taken to their readers while the activity runs.
//!
//! | file | content |
//! |---|---|
//! | `transport.rs` | the traits of a transport, and the transport within the process |
//! | `heartbeat.rs` | the transport by the heartbeats of the activity |
//! | `workflow_stream.rs` | the transport by the stream of the workflow |
//! | `attempt.rs` | the deltas of one attempt at an activity |
//! | `carrier.rs` | the heartbeats of an activity whose details hold more than deltas |
//! | `details.rs` | the details that the heartbeats of an attempt carry |
//! | `batches.rs` | their batches, and the task that sends them |
//! | `model_events.rs`, `tool_events.rs` | deltas of models and tools as events |
//!
//! The transport over Redis is `worker/broker_deltas`: it joins this directory and the streams of
//! `remote`.
//!
//! # Design
//! **History is the log, deltas are a side channel.** A delta is never recorded as an event of
//! history by itself, never delays or fails its activity, and is superseded by the item that the
//! history records. What a transport cannot deliver is lost.
//!
//! **No part of a text without the part before it.** A transport that loses a batch loses the rest
//! of the attempt's texts: a reader sees the beginning of a message, or all of it, never a text
//! with a hole.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the worker half runs outside of workflows: it may use clock, environment and tasks"
)]

mod attempt;
mod batches;
mod carrier;
mod details;
mod heartbeat;
mod model_events;
mod tool_events;
mod transport;
mod workflow_stream;

pub(crate) use self::{
    attempt::AttemptDeltas, batches::Batches, carrier::WindowCarrier, details::HeartbeatDetails,
    model_events::ModelEvents, tool_events::tool_event, transport::Deltas,
};
pub use self::{
    heartbeat::HeartbeatDeltas,
    transport::{DeltaBatch, DeltaChannel, DeltaSource, DeltaTransport, InProcessDeltas},
    workflow_stream::WorkflowStreamDeltas,
};
