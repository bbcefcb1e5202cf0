//! The header of the activities of a run that has settings of its trace: history then says how
//! spans are made of them.
//!
//! # Design
//! As [`call`](super::call): headers are no part of what a replay compares, and the
//! requests of activities are not changed. A local activity leaves no header in history; for the
//! runs of those, the notes have the settings.

use std::time::SystemTime;

use temporal_agents_core::wire::TraceSettings;
#[cfg(feature = "worker")]
use temporal_agents_core::wire::trace_settings::TRACE_HEADER;
use temporalio_workflow::WorkflowContextKey;
#[cfg(feature = "worker")]
use temporalio_workflow::workflow_interceptors::{
    CancellableWorkflowOutboundFuture, ScheduleActivityInput, ScheduleActivityResult, ScheduleLocalActivityInput,
    WorkflowInterceptor, WorkflowInterceptorContext, WorkflowNext,
};

#[cfg(feature = "worker")]
use super::call::payload;

/// The key of the settings in the workflow's context.
pub(crate) struct TraceKey;

impl WorkflowContextKey for TraceKey {
    type Value = TraceSettings;
}

/// The key of the receiver of spans that the author of a workflow opens. A worker without traces
/// has none.
pub(crate) struct SpansKey;

impl WorkflowContextKey for SpansKey {
    type Value = Box<dyn OpenedSpans>;
}

/// The key of the number of the span in which code of a workflow runs.
pub(crate) struct EnclosingSpanKey;

impl WorkflowContextKey for EnclosingSpanKey {
    type Value = u64;
}

/// The receiver of spans that the author of a workflow opens.
pub(crate) trait OpenedSpans {
    /// Returns the number of the next span, counted from 0 in each execution; the same on replay.
    fn number(&self) -> u64;

    /// Records that a run with these settings is in the history by a note, even without an effect.
    fn noted(&self, settings: Option<&TraceSettings>);

    /// Records that an outermost run with these settings has ended, not on replay.
    fn run_ended(&self, run: &str, settings: Option<&TraceSettings>);

    /// Receives a span that has ended, not on replay.
    fn ended(&self, span: OpenedSpan);
}

/// A span that the author of a workflow has opened.
#[cfg_attr(not(feature = "otel"), expect(dead_code, reason = "traces read it"))]
pub(crate) struct OpenedSpan {
    pub(crate) number: u64,
    /// Number of the span around it.
    pub(crate) parent: Option<u64>,
    pub(crate) name: String,
    pub(crate) start: SystemTime,
    pub(crate) end: SystemTime,
}

/// Writes the header.
#[cfg(feature = "worker")]
pub(crate) struct TraceHeader;

#[cfg(feature = "worker")]
impl WorkflowInterceptor for TraceHeader {
    fn schedule_activity(
        &self,
        ctx: WorkflowInterceptorContext,
        mut input: ScheduleActivityInput,
        next: WorkflowNext<'static, ScheduleActivityInput, CancellableWorkflowOutboundFuture<ScheduleActivityResult>>,
    ) -> CancellableWorkflowOutboundFuture<ScheduleActivityResult> {
        if let Some(settings) = ctx.context_value::<TraceKey>() {
            input.headers_mut().insert(TRACE_HEADER.to_owned(), payload(&*settings));
        }
        next.run(input)
    }

    fn schedule_local_activity(
        &self,
        ctx: WorkflowInterceptorContext,
        mut input: ScheduleLocalActivityInput,
        next: WorkflowNext<
            'static,
            ScheduleLocalActivityInput,
            CancellableWorkflowOutboundFuture<ScheduleActivityResult>,
        >,
    ) -> CancellableWorkflowOutboundFuture<ScheduleActivityResult> {
        if let Some(settings) = ctx.context_value::<TraceKey>() {
            input.headers_mut().insert(TRACE_HEADER.to_owned(), payload(&*settings));
        }
        next.run(input)
    }
}
