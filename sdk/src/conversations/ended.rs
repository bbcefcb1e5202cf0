//! Forgets the conversations of a workflow run when it has ended on this worker.
//!
//! Nobody asks for them any more, and they would stay in memory until there is need of room.

use temporalio_workflow::workflow_interceptors::{
    ExecuteWorkflowInput, ExecuteWorkflowResult, WorkflowInterceptor, WorkflowInterceptorContext,
    WorkflowInterceptorFuture, WorkflowNext,
};

use super::{ConversationCache, cache::RunKey};

/// Watches one workflow run.
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
        // Of a workflow that leaves the worker's memory before its end the future is dropped, and nothing is forgotten.
        WorkflowInterceptorFuture::new(async move {
            let ended = running.await;
            self.0.lock().forget(&run);
            ended
        })
    }
}
