//! The one place that fails a workflow *task*: the exception to "errors end runs, not tasks".
//!
//! # Design
//! The only exception to "errors end runs, not workflow tasks" is a run that the server did
//! continue and that this build cannot read, or that does not fit its agents: a state with an
//! agent, tool or handoff that is gone, with a session that only one of the two has, an inbox
//! without a place, a message of a release that is not read. A failed workflow would be lost there;
//! a failed task is retried until a rollback or a forward fix. `fail_task` uses the SDK's
//! `force_task_fail`, which is not a panic, so that nothing can catch it. What no worker could ever
//! continue still ends the run: a state that has failed, one whose digest is wrong, what the
//! starter of a workflow has sent.
//!
//! The server says that an execution was continued, not where a state comes from that its author
//! resumes. So `Runner::resume` counts in each execution that was continued: a workflow that
//! resumes states of its callers, after it has continued as new, can be made to wait for a deploy.

use std::fmt::Display;

use crate::workflow::context::DurableContext;

/// The patch of workflows whose task fails; before it the workflow failed.
const WAITS_FOR_A_DEPLOY: &str = "temporal-agents/unfit-run-waits-for-a-deploy";

/// Records in history that this execution, which continues a run, waits for a deploy where that is needed. Called where what is carried is first
/// read, so that the first workflow task has a command: asked only when a build does not fit, on a replay, history would say no.
pub(in crate::workflow) fn waits_for_a_deploy(ctx: &dyn DurableContext) -> bool {
    ctx.patched(WAITS_FOR_A_DEPLOY)
}

/// Fails the workflow task because this build cannot continue the run of `agent`, and never returns then. Returns where history says that the
/// workflow went on: the caller ends the run, as the release that recorded it did.
///
/// The SDK reports the message as the failure of the task, drops the workflow from the cache, and the server schedules the task again.
///
/// # Determinism
/// Safe: the commands of a failed task, the marker of the patch among them, are never recorded.
pub(in crate::workflow) async fn fail_task(ctx: &dyn DurableContext, agent: &str, why: impl Display) {
    if !waits_for_a_deploy(ctx) {
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
         Nothing is lost: this workflow task fails and is tried again until a worker can continue the run. Roll back to the build that had what \
         is missing, or deploy one that has it again."
    )
}

#[cfg(test)]
mod tests;
