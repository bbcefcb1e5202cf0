//! Removes the conversations of a workflow run from memory when it has ended on this worker.
//!
//! They are no longer needed, and would stay in memory until the cache is full.

use temporalio_workflow::workflow_interceptors::{
    ExecuteWorkflowInput, ExecuteWorkflowResult, WorkflowInterceptor, WorkflowInterceptorContext,
    WorkflowInterceptorFuture, WorkflowNext,
};

use super::{ConversationCache, cache::RunKey};

/// An interceptor that removes the conversations of a workflow run at its end.
pub(crate) struct ForgetEnded(pub(crate) ConversationCache);

impl WorkflowInterceptor for ForgetEnded {
    fn execute<'a>(
        &'a self,
        ctx: WorkflowInterceptorContext,
        input: ExecuteWorkflowInput,
        next: WorkflowNext<'a, ExecuteWorkflowInput, WorkflowInterceptorFuture<'a, ExecuteWorkflowResult>>,
    ) -> WorkflowInterceptorFuture<'a, ExecuteWorkflowResult> {
        let run = RunKey {
            namespace: ctx.namespace().to_owned(),
            workflow_id: ctx.workflow_id().to_owned(),
            run_id: ctx.run_id().to_owned(),
        };
        let running = next.run(input);
        // When a workflow is evicted from the worker before its end, its future is dropped, and its
        // conversations are kept.
        WorkflowInterceptorFuture::new(async move {
            let ended = running.await;
            self.0.lock().forget(&run);
            ended
        })
    }
}
