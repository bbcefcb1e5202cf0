//! Runs of agents as traces of OpenTelemetry (feature `otel`): from history, and live.
//!
//! `RunConfig::builder()` has the settings of a run's trace: its names, its id, its metadata, its
//! content, and its collector.
//!
//! | file | content |
//! |---|---|
//! | `ids.rs` | the ids of traces and spans |
//! | `span.rs` | a span as data |
//! | `attributes.rs` | names and attributes of spans |
//! | `history/` | the spans of a workflow, from its history |
//! | `live/` | the spans of a worker, while runs happen |
//! | `events/` | the spans of runs outside of workflows, from their events |
//! | `otlp.rs` | the export to a collector |
//!
//! # Design
//! **Ids are made of the ids of Temporal,** never drawn: a span that two processes export, or that
//! is exported live and later from history, is one span.
//!
//! **History is complete.** A worker that dies loses the spans it has not sent;
//! [`export_workflow`] sends all that history records, of a workflow that runs or has ended.
//!
//! **A call is one span, and each attempt at it another below.** The call lasts from its scheduling
//! to its end, so that queue time and backoff are visible; the attempt has the attributes of the
//! conventions, so that a backend counts tokens once.
//!
//! **No option starts spans on replay.** The OpenAI integration for Temporal has
//! `startSpansInReplay`, to see what a replay does, because its spans are made in the workflow's
//! code. Here that code makes none but those that its author opens
//! ([`workflow::span`](crate::workflow::span)), and [`export_workflow`] sends the trace again at
//! any time.
//!
//! **Settings of a run are in its history,** in a header of its activities and in its notes, so
//! that spans from history have them. A run that names a trace has its own tree there, below a span
//! of the workflow with the same id, unless the caller's trace contains the workflow.
//!
//! **A guardrail that is a function has a span only when it trips.** It takes no time, and history
//! does not record one that passes: spans of those would be in a live trace alone.
//!
//! **A Nexus operation has the span of its call,** without its duration: history names the call
//! only in the operation's headers, which are not read. The same holds for a child workflow whose
//! id its author chooses. The context is propagated in the headers of the operation, as
//! `traceparent`, `tracestate` and `baggage`.
//!
//! # Source
//! The semantic conventions for generative AI of OpenTelemetry, `tests/conventions/spans.json`.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the worker half runs outside of workflows: it may use clock, environment and tasks"
)]

mod attributes;
mod events;
mod history;
mod ids;
mod live;
mod otlp;
pub(crate) mod propagation;
mod span;

pub use self::{
    history::{TraceError, export_history, export_workflow},
    live::Tracing,
    otlp::{Otlp, OtlpError},
};
