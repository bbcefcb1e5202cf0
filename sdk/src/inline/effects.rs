//! Workflow tools in a run without a workflow. Timers, time and randomness are those of the
//! machine; activities and child workflows are unavailable.

use std::{
    rc::Rc,
    sync::Arc,
    time::{Duration, SystemTime},
};

use futures::{FutureExt, future::LocalBoxFuture};
use serde_json::Value;
use temporal_agents_core::{
    drive::{ToolAnswer, ToolEffect, ToolEffectError, guard::guarded_future},
    tool::{
        ChildWorkflow, DeltaTransport, RemoteActivity, RunContext, ToolContext, ToolFailure, ToolFailureKind,
        WorkflowBody, WorkflowEffects, WorkflowToolContext, WorkflowToolError,
    },
};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// Runs the body of a workflow tool in this process.
pub(crate) async fn call(
    body: &WorkflowBody,
    call: ToolEffect<'_>,
    scope: &CancellationToken,
    deltas: Option<Arc<dyn DeltaTransport>>,
) -> Result<ToolAnswer, ToolEffectError> {
    let ToolEffect {
        tool,
        info,
        id: _,
        arguments,
        context,
        mcp: _,
        mcp_session: _,
        remote: _,
        meta: _,
        fails_run: _,
        untrusted: _,
        gates: _,
        user: _,
        trace: _,
    } = call;
    let call = ToolContext::new(info, RunContext::new(context)).with_settings(tool.settings().clone());
    let call = call.with_deltas(deltas);
    let mut ctx = WorkflowToolContext::new(call, Rc::new(InlineEffects(scope.clone())));
    match guarded_future(async { body(&mut ctx, arguments).await }).await {
        Ok(Ok(output)) => {
            let side_data = ctx.take_side_data().into_member();
            Ok(ToolAnswer { context_patch: ctx.into_run().patch(), side_data, ..ToolAnswer::new(output) })
        }
        Ok(Err(error)) => Err(error.into()),
        Err(panic) => {
            let failure = ToolFailure::new(ToolFailureKind::Panicked, panic.to_string());
            Err(ToolEffectError::failed(failure, panic))
        }
    }
}

struct InlineEffects(CancellationToken);

/// Returns the failure of an effect that needs a workflow.
fn nowhere<T: 'static>(what: String) -> LocalBoxFuture<'static, Result<T, WorkflowToolError>> {
    std::future::ready(Err(WorkflowToolError::NoWorkflow { what })).boxed_local()
}

impl WorkflowEffects for InlineEffects {
    fn sleep(&self, duration: Duration) -> LocalBoxFuture<'static, Result<(), WorkflowToolError>> {
        let token = self.0.clone();
        async move {
            let slept = token.run_until_cancelled(tokio::time::sleep(duration)).await;
            slept.ok_or_else(|| WorkflowToolError::Cancelled { what: "the timer".to_owned() })
        }
        .boxed_local()
    }

    fn activity(
        &self,
        activity: RemoteActivity,
        _input: Value,
    ) -> LocalBoxFuture<'static, Result<Value, WorkflowToolError>> {
        nowhere(format!("activity {:?}", activity.activity_type))
    }

    fn child_workflow(
        &self,
        child: ChildWorkflow,
        _input: Value,
    ) -> LocalBoxFuture<'static, Result<Value, WorkflowToolError>> {
        nowhere(format!("child workflow {:?}", child.workflow_type))
    }

    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    fn random(&self) -> u64 {
        // The first 32 bits of a UUID are random.
        let [high, low] = [Uuid::new_v4(), Uuid::new_v4()].map(|uuid| uuid.as_u64_pair().0 >> 32);
        (high << 32) | low
    }

    fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }
}
