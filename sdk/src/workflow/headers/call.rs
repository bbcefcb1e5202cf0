//! The header of activities and child workflows that tool calls schedule: run, session and turn of
//! the call, for tools outside of this library.
//!
//! # Design
//! **A header, not an argument.** The arguments of a tool are those of the model. The SDK lets only
//! interceptors write headers, so the call is a value of the workflow's context, which the
//! interceptor reads. Headers are no part of what a replay compares.

#[cfg(feature = "worker")]
use serde::Serialize;
#[cfg(feature = "worker")]
use temporal_agents_core::wire::tool_call_meta::TOOL_CALL_HEADER;
use temporal_agents_core::wire::tool_call_meta::ToolCallMeta;
use temporalio_workflow::WorkflowContextKey;
#[cfg(feature = "worker")]
use temporalio_workflow::{
    common::protos::temporal::api::common::v1::Payload,
    workflow_interceptors::{
        CancellableWorkflowOutboundFuture, ScheduleActivityInput, ScheduleActivityResult, StartChildWorkflowInput,
        StartChildWorkflowResult, WorkflowInterceptor, WorkflowInterceptorContext, WorkflowNext,
    },
};

/// The key of the call in the workflow's context.
pub(crate) struct ToolCallKey;

impl WorkflowContextKey for ToolCallKey {
    type Value = ScheduledBy;
}

/// The call that schedules something.
#[derive(Clone)]
#[cfg_attr(not(feature = "worker"), expect(dead_code, reason = "the worker half reads it"))]
pub(crate) struct ScheduledBy {
    pub(crate) meta: ToolCallMeta,
    /// Id of the call's effect in the run.
    #[cfg_attr(all(feature = "worker", not(feature = "otel")), expect(dead_code, reason = "traces read it"))]
    pub(crate) effect: String,
}

/// Writes the header.
#[cfg(feature = "worker")]
pub(crate) struct ToolCallHeader;

#[cfg(feature = "worker")]
impl WorkflowInterceptor for ToolCallHeader {
    fn schedule_activity(
        &self,
        ctx: WorkflowInterceptorContext,
        mut input: ScheduleActivityInput,
        next: WorkflowNext<'static, ScheduleActivityInput, CancellableWorkflowOutboundFuture<ScheduleActivityResult>>,
    ) -> CancellableWorkflowOutboundFuture<ScheduleActivityResult> {
        if let Some(by) = ctx.context_value::<ToolCallKey>() {
            input.headers_mut().insert(TOOL_CALL_HEADER.to_owned(), payload(&by.meta));
        }
        next.run(input)
    }

    fn start_child_workflow(
        &self,
        ctx: WorkflowInterceptorContext,
        mut input: StartChildWorkflowInput,
        next: WorkflowNext<
            'static,
            StartChildWorkflowInput,
            CancellableWorkflowOutboundFuture<StartChildWorkflowResult>,
        >,
    ) -> CancellableWorkflowOutboundFuture<StartChildWorkflowResult> {
        if let Some(by) = ctx.context_value::<ToolCallKey>() {
            input.headers_mut().insert(TOOL_CALL_HEADER.to_owned(), payload(&by.meta));
        }
        next.run(input)
    }
}

/// Returns the value of a header as JSON, whatever converter the workflow has: readers in other
/// languages expect it.
#[cfg(feature = "worker")]
pub(super) fn payload(value: &impl Serialize) -> Payload {
    let encoding = [("encoding".to_owned(), b"json/plain".to_vec())];
    let data = serde_json::to_vec(value).expect("maps with strings as keys are JSON");
    Payload { metadata: encoding.into_iter().collect(), data, ..Payload::default() }
}
