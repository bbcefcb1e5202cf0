//! The interceptor of traced workflows.

use std::{
    cell::{Cell, RefCell},
    sync::Arc,
};

use temporalio_common::protos::temporal::api::common::v1::Payload;
use temporalio_workflow::{
    WorkflowTermination,
    workflow_interceptors::{
        CancellableWorkflowOutboundFuture, ContinueAsNewInput, ContinueAsNewResult, ExecuteWorkflowInput,
        ExecuteWorkflowResult, ScheduleActivityInput, ScheduleActivityResult, ScheduleLocalActivityInput,
        StartChildWorkflowInput, StartChildWorkflowResult, SyncWorkflowInterceptorContext, WorkflowInterceptor,
        WorkflowInterceptorContext, WorkflowInterceptorFuture, WorkflowNext,
    },
};

use super::{
    caller_in, execution_of, payload,
    queue::{Job, Queue},
};
use crate::{client::TRACER_DATA, events::Place, tool::ToolCallKey, trace::ids::Caller};

/// Sends the context of a trace on, and reports the end of an execution.
pub(crate) struct TracedWorkflow {
    queue: Arc<Queue>,
    caller: RefCell<Option<Caller>>,
    /// `true` once agents run in the workflow.
    has_runs: Cell<bool>,
}

impl TracedWorkflow {
    pub(super) fn new(queue: &Arc<Queue>) -> Self {
        Self { queue: Arc::clone(queue), caller: RefCell::new(None), has_runs: Cell::new(false) }
    }

    /// Returns the header of what an effect of this id schedules.
    fn header(&self, ctx: &WorkflowInterceptorContext, id: &str) -> Option<Payload> {
        Place::of(id)?;
        self.has_runs.set(true);
        let caller = (*self.caller.borrow())?;
        let execution = execution_of(ctx.workflow_id(), ctx.run_id());
        Some(payload(Caller { span: execution.call(id), ..caller }))
    }
}

impl WorkflowInterceptor for TracedWorkflow {
    fn execute<'a>(
        &'a self,
        ctx: WorkflowInterceptorContext,
        input: ExecuteWorkflowInput,
        next: WorkflowNext<'a, ExecuteWorkflowInput, WorkflowInterceptorFuture<'a, ExecuteWorkflowResult>>,
    ) -> WorkflowInterceptorFuture<'a, ExecuteWorkflowResult> {
        let (workflow_id, run_id) = (ctx.workflow_id().to_owned(), ctx.run_id().to_owned());
        let execution = execution_of(&workflow_id, &run_id);
        let sent = caller_in(input.headers());
        let own = Caller { trace: execution.trace(), span: execution.workflow(), is_sampled: true };
        *self.caller.borrow_mut() = Some(sent.unwrap_or(own));
        let running = next.run(input);
        WorkflowInterceptorFuture::new(async move {
            let ended = running.await;
            let is_evicted = matches!(ended, Err(WorkflowTermination::Evicted));
            let is_sampled = self.caller.borrow().is_some_and(|caller| caller.is_sampled);
            if self.has_runs.get() && is_sampled && !is_evicted && !ctx.is_replaying_history_events() {
                self.queue.add(Job::Ended { workflow_id, run_id });
            }
            ended
        })
    }

    fn schedule_activity(
        &self,
        ctx: WorkflowInterceptorContext,
        mut input: ScheduleActivityInput,
        next: WorkflowNext<'static, ScheduleActivityInput, CancellableWorkflowOutboundFuture<ScheduleActivityResult>>,
    ) -> CancellableWorkflowOutboundFuture<ScheduleActivityResult> {
        let id = input.options().activity_id.clone().unwrap_or_default();
        if let Some(header) = self.header(&ctx, &id) {
            input.headers_mut().insert(TRACER_DATA.to_owned(), header);
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
        let id = input.options().activity_id.clone().unwrap_or_default();
        if let Some(header) = self.header(&ctx, &id) {
            input.headers_mut().insert(TRACER_DATA.to_owned(), header);
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
        let effect = ctx.context_value::<ToolCallKey>().map(|call| call.effect.clone());
        if let Some(header) = effect.and_then(|effect| self.header(&ctx, &effect)) {
            input.headers_mut().insert(TRACER_DATA.to_owned(), header);
        }
        next.run(input)
    }

    fn continue_as_new(
        &self,
        _ctx: SyncWorkflowInterceptorContext,
        mut input: ContinueAsNewInput,
        next: WorkflowNext<'static, ContinueAsNewInput, ContinueAsNewResult>,
    ) -> ContinueAsNewResult {
        if let Some(caller) = *self.caller.borrow() {
            input.headers_mut().entry(TRACER_DATA.to_owned()).or_insert_with(|| payload(caller));
        }
        next.run(input)
    }
}
