//! The only function that fails a workflow *task*: the exception to "errors end runs, not tasks".
//!
//! # Design
//! The only exception to "errors end runs, not workflow tasks" is a run that the server did
//! continue and that this build cannot read, or that does not fit its agents: a state with an
//! agent, tool or handoff that no longer exists, a state that has a session where the runner has
//! none or the reverse, a carried inbox where the runner has none, a message of a release that this
//! one cannot read. If the workflow failed, the run would be lost; a failed task is retried until a
//! rollback or a forward fix. `fail_task` uses the SDK's `force_task_fail`, which is not a panic,
//! so that nothing can catch it. Errors that no build could ever resolve still end the run: a state
//! that has failed, a state whose digest is wrong, input from the starter of a workflow.
//!
//! The server records that an execution was continued, but not where a state comes from that its
//! author resumes. So this also applies to a run from a `RunState` in each execution that was
//! continued: a workflow that resumes states of its callers after it has continued as new can be
//! made to wait for a deploy.

use std::fmt::Display;

use crate::workflow::context::DurableContext;

/// The patch of executions that record at their beginning that they wait for a deploy.
const CONTINUED_RUN_WAITS: &str = "temporal-agents/continued-run-waits-for-a-deploy";

/// The first name of this patch, which earlier builds recorded.
const UNFIT_RUN_WAITS: &str = "temporal-agents/unfit-run-waits-for-a-deploy";

/// The patch of executions that began before these two, where the workflow failed. It is evaluated
/// only when a build does not fit.
const EARLIER_RUN_WAITS: &str = "temporal-agents/earlier-run-waits-for-a-deploy";

/// Records in history that this execution, which continues a run, waits for a deploy where one is
/// needed. Called where the carried run is first read, so that the first workflow task has a
/// command: if the patch were evaluated only when a build does not fit, on a replay, history would
/// answer no.
pub(in crate::workflow) fn record_deploy_patch(ctx: &dyn DurableContext) -> bool {
    ctx.patched(CONTINUED_RUN_WAITS) || ctx.patched(UNFIT_RUN_WAITS)
}

/// Fails the workflow task because this build cannot continue the run of `agent`, and then never
/// returns. Returns if history says that the workflow continued after this point: the caller ends
/// the run, as the release that recorded the history did.
///
/// The SDK reports the message as the failure of the task and drops the workflow from the cache;
/// the server schedules the task again.
///
/// # Determinism
/// Safe: the commands of a failed task, the marker of the patch among them, are never recorded.
pub(in crate::workflow) async fn fail_task(ctx: &dyn DurableContext, agent: &str, why: impl Display) {
    if !record_deploy_patch(ctx) && !ctx.patched(EARLIER_RUN_WAITS) {
        return;
    }
    let message = message(agent, &ctx.workflow_id(), why);
    tracing::error!(agent, workflow_id = ctx.workflow_id(), "{message}");
    ctx.fail_task(message);
    std::future::pending::<()>().await;
}

fn message(agent: &str, workflow_id: &str, why: impl Display) -> String {
    let of = if agent.is_empty() { String::new() } else { format!(" of agent {agent:?}") };
    format!(
        "the run{of} that workflow {workflow_id:?} continues cannot be continued by this worker: {why}\n\
         Nothing is lost: this workflow task fails and is retried until a worker can continue the run. Roll back to \
         the build that had what is missing, or deploy one that has it again."
    )
}

#[cfg(test)]
mod tests;
