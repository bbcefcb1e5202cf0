//! The facts of runs, derived from their observed effects.
//!
//! [`Facts`] is one state machine for all hosts. A reader of histories feeds it with what history
//! records, the hosts without a workflow feed it with the same effects as they make them. So the
//! facts of a run are the same everywhere, in the same order and with the same ids.
//!
//! `facts/` is pure: it has no I/O and no clock.
//!
//! # Design
//! **Facts are derived from effects, not from steps of the loop.** History holds effects; the
//! loop's steps between them leave no trace. The output of an inline tool, for example, is
//! reported with the next model call, which shows it. A few facts leave no trace in any effect: the
//! run records them itself, as a [`RunNote`](temporal_agents_core::wire::event::RunNote).

#![allow(clippy::disallowed_methods, reason = "the worker half runs outside of workflows: it may use the clock")]

mod activity_id;
mod delta_ids;
mod facts;
mod kept;
mod publisher;
mod run;
mod tracer;

#[cfg(feature = "http")]
pub(crate) use self::facts::without_number;
pub use self::tracer::RunTracer;
pub(crate) use self::{
    activity_id::{Place, Role, is_aside},
    delta_ids::{CallOfRun, DeltaOrder, attempt_id, delta_of, with_suffix, without_suffix},
    facts::{Attempts, Facts, ScheduledModelCall, call_id_of, fact_id, fact_id_at, lineage},
    kept::{restored, shortened, whole},
    publisher::{EventPublisher, EventSink, rfc3339},
    tracer::{Aside, AsideKind, AttemptContext, AttemptOf, RunObserver, TracedRun, within},
};
