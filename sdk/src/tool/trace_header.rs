//! The header of the activities of a run that has settings of its trace: history then says how
//! spans are made of them.
//!
//! # Design
//! As [`call_header`](super::call_header): headers are no part of what a replay compares, and the
//! requests of activities are not changed. A local activity leaves no header in history; for the
//! runs of those, the notes have the settings.

use temporalio_workflow::WorkflowContextKey;
#[cfg(feature = "worker")]
use temporalio_workflow::{
    common::protos::temporal::api::common::v1::Payload,
    workflow_interceptors::{
        CancellableWorkflowOutboundFuture, ScheduleActivityInput, ScheduleActivityResult, ScheduleLocalActivityInput,
        WorkflowInterceptor, WorkflowInterceptorContext, WorkflowNext,
    },
};

use crate::wire::TraceSettings;
#[cfg(feature = "worker")]
use crate::wire::trace_settings::TRACE_HEADER;

/// The key of the settings in the workflow's context.
pub(crate) struct TraceKey;

impl WorkflowContextKey for TraceKey {
    type Value = TraceSettings;
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
            input.headers_mut().insert(TRACE_HEADER.to_owned(), payload(&settings));
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
            input.headers_mut().insert(TRACE_HEADER.to_owned(), payload(&settings));
        }
        next.run(input)
    }
}

/// Returns the settings as JSON, whatever converter the workflow has.
#[cfg(feature = "worker")]
fn payload(settings: &TraceSettings) -> Payload {
    let encoding = [("encoding".to_owned(), b"json/plain".to_vec())];
    let data = serde_json::to_vec(settings).expect("maps with strings as keys are JSON");
    Payload { metadata: encoding.into_iter().collect(), data, ..Payload::default() }
}
