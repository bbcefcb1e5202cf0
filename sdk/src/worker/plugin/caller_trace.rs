//! The trace of a workflow's caller, passed on to activities, child workflows and later executions.
//!
//! # Design
//! **Works without the feature `otel`.** The interceptor copies the header `_tracer-data`, which the tracing
//! plugins of Temporal's SDKs write, so that calls of remote tools carry the caller's `traceparent`. A worker
//! with `Tracing` writes its own contexts and does not use it. Replay does not compare headers. A header of
//! more than 8 KiB is dropped.

use std::{cell::RefCell, collections::HashMap};

use temporal_agents_core::wire::trace_settings::TRACER_DATA;
use temporalio_workflow::{
    common::protos::temporal::api::common::v1::Payload,
    workflow_interceptors::{
        CancellableWorkflowOutboundFuture, ContinueAsNewInput, ContinueAsNewResult, ExecuteWorkflowInput,
        ExecuteWorkflowResult, ScheduleActivityInput, ScheduleActivityResult, ScheduleLocalActivityInput,
        StartChildWorkflowInput, StartChildWorkflowResult, SyncWorkflowInterceptorContext, WorkflowInterceptor,
        WorkflowInterceptorContext, WorkflowInterceptorFuture, WorkflowNext,
    },
};

/// Maximum bytes of a header that is passed on: each activity repeats it in history.
const MAX_BYTES: usize = 8_192;

/// Passes the header on.
#[derive(Default)]
pub(super) struct CallerTrace(RefCell<Option<Payload>>);

impl CallerTrace {
    /// Adds the header, unless another interceptor has set it.
    fn add_to(&self, headers: &mut HashMap<String, Payload>) {
        if let Some(header) = &*self.0.borrow() {
            headers.entry(TRACER_DATA.to_owned()).or_insert_with(|| header.clone());
        }
    }
}

impl WorkflowInterceptor for CallerTrace {
    fn execute<'a>(
        &'a self,
        _ctx: WorkflowInterceptorContext,
        input: ExecuteWorkflowInput,
        next: WorkflowNext<'a, ExecuteWorkflowInput, WorkflowInterceptorFuture<'a, ExecuteWorkflowResult>>,
    ) -> WorkflowInterceptorFuture<'a, ExecuteWorkflowResult> {
        let header = input.headers().get(TRACER_DATA).filter(|header| header.data.len() <= MAX_BYTES);
        *self.0.borrow_mut() = header.cloned();
        next.run(input)
    }

    fn schedule_activity(
        &self,
        _ctx: WorkflowInterceptorContext,
        mut input: ScheduleActivityInput,
        next: WorkflowNext<'static, ScheduleActivityInput, CancellableWorkflowOutboundFuture<ScheduleActivityResult>>,
    ) -> CancellableWorkflowOutboundFuture<ScheduleActivityResult> {
        self.add_to(input.headers_mut());
        next.run(input)
    }

    fn schedule_local_activity(
        &self,
        _ctx: WorkflowInterceptorContext,
        mut input: ScheduleLocalActivityInput,
        next: WorkflowNext<
            'static,
            ScheduleLocalActivityInput,
            CancellableWorkflowOutboundFuture<ScheduleActivityResult>,
        >,
    ) -> CancellableWorkflowOutboundFuture<ScheduleActivityResult> {
        self.add_to(input.headers_mut());
        next.run(input)
    }

    fn start_child_workflow(
        &self,
        _ctx: WorkflowInterceptorContext,
        mut input: StartChildWorkflowInput,
        next: WorkflowNext<
            'static,
            StartChildWorkflowInput,
            CancellableWorkflowOutboundFuture<StartChildWorkflowResult>,
        >,
    ) -> CancellableWorkflowOutboundFuture<StartChildWorkflowResult> {
        self.add_to(input.headers_mut());
        next.run(input)
    }

    fn continue_as_new(
        &self,
        _ctx: SyncWorkflowInterceptorContext,
        mut input: ContinueAsNewInput,
        next: WorkflowNext<'static, ContinueAsNewInput, ContinueAsNewResult>,
    ) -> ContinueAsNewResult {
        self.add_to(input.headers_mut());
        next.run(input)
    }
}
