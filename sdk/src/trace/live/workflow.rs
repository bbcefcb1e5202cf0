//! The interceptor of traced workflows.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    sync::Arc,
};

use temporal_agents_core::wire::trace_settings::TRACER_DATA;
use temporalio_common::protos::temporal::api::common::v1::Payload;
#[cfg(feature = "nexus")]
use temporalio_workflow::workflow_interceptors::{StartNexusOperationInput, StartNexusOperationResult};
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
    execution_of,
    opened::Opened,
    queue::{Extent, Job, Queue},
    sent::SentContext,
};
use crate::{
    events::Place,
    trace::ids::{Caller, TraceId},
    workflow::headers::{SpansKey, ToolCallKey, TraceKey},
};

/// Sends the context of a trace on, and reports the end of an execution.
pub(crate) struct TracedWorkflow {
    queue: Arc<Queue>,
    /// The context of the workflow, and the spans of its author, once it runs.
    context: RefCell<Option<(SentContext, Rc<Opened>)>>,
    /// `true` once agents run in the workflow.
    has_runs: Cell<bool>,
}

impl TracedWorkflow {
    pub(super) fn new(queue: &Arc<Queue>) -> Self {
        Self { queue: Arc::clone(queue), context: RefCell::new(None), has_runs: Cell::new(false) }
    }

    /// Returns the header of what an effect of this id schedules.
    fn header(&self, ctx: &WorkflowInterceptorContext, id: &str) -> Option<Payload> {
        Some(self.sent(ctx, id)?.to_payload())
    }

    /// Returns the context of what an effect of this id schedules.
    fn sent(&self, ctx: &WorkflowInterceptorContext, id: &str) -> Option<SentContext> {
        Place::of(id)?;
        self.has_runs.set(true);
        let span = execution_of(ctx.workflow_id(), ctx.run_id()).call(id);
        let settings = ctx.context_value::<TraceKey>();
        let context = self.context.borrow();
        let (context, opened) = context.as_ref()?;
        if let Some(trace) = settings.as_ref().and_then(|settings| settings.trace()) {
            opened.named(TraceId(trace));
        }
        Some(context.of_run(span, settings.as_deref()))
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
        let own = Caller { trace: execution.trace(), span: execution.workflow(), is_sampled: true };
        let context = SentContext::or_own(input.headers(), own);
        let is_sampled = context.caller.is_sampled;
        let opened = Rc::new(Opened::new(&self.queue, &workflow_id, &run_id, context.clone()));
        *self.context.borrow_mut() = Some((context, Rc::clone(&opened)));
        let running = ctx.with_context_value::<SpansKey, _>(Box::new(Rc::clone(&opened)), next.run(input));
        WorkflowInterceptorFuture::new(async move {
            let ended = running.await;
            let is_evicted = matches!(ended, Err(WorkflowTermination::Evicted));
            let has_spans = self.has_runs.get() || opened.has_any();
            let sent = opened.sent_runs();
            if !is_evicted {
                sent.end();
            }
            if has_spans && is_sampled && !is_evicted && !ctx.is_replaying_history_events() {
                self.queue.add(Job::Ended { workflow_id, run_id, extent: Extent::Execution { sent } });
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

    #[cfg(feature = "nexus")]
    fn start_nexus_operation(
        &self,
        ctx: WorkflowInterceptorContext,
        mut input: StartNexusOperationInput,
        next: WorkflowNext<
            'static,
            StartNexusOperationInput,
            CancellableWorkflowOutboundFuture<StartNexusOperationResult>,
        >,
    ) -> CancellableWorkflowOutboundFuture<StartNexusOperationResult> {
        let effect = ctx.context_value::<ToolCallKey>().map(|call| call.effect.clone());
        if let Some(sent) = effect.and_then(|effect| self.sent(&ctx, &effect)) {
            // These headers are those of a request over HTTP: W3C's own, as plain strings.
            input.options_mut().nexus_header.extend(sent.to_nexus_fields());
        }
        next.run(input)
    }

    fn continue_as_new(
        &self,
        _ctx: SyncWorkflowInterceptorContext,
        mut input: ContinueAsNewInput,
        next: WorkflowNext<'static, ContinueAsNewInput, ContinueAsNewResult>,
    ) -> ContinueAsNewResult {
        if let Some((context, _)) = &*self.context.borrow() {
            input.headers_mut().entry(TRACER_DATA.to_owned()).or_insert_with(|| context.to_payload());
        }
        next.run(input)
    }
}
