//! Headers of the activities and child workflows that a run schedules, and the values in the
//! workflow's context that they are written from.

mod call;
mod trace;

pub(crate) use call::{ScheduledBy, ToolCallKey};
#[cfg(feature = "otel")]
pub(crate) use trace::OpenedSpans;
pub(crate) use trace::{EnclosingSpanKey, OpenedSpan, SpansKey, TraceKey};
#[cfg(feature = "worker")]
pub(crate) use {call::ToolCallHeader, trace::TraceHeader};
