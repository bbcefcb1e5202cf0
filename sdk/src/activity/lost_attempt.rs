//! The loss of an attempt with its worker: no heartbeat has reached the server in time, or the
//! worker has shut down. No other code has logged it.
//!
//! # Design
//! **The next attempt asks the server.** An activity does not learn how the attempt before it has
//! failed, but the description of its workflow says so. That is one request for each retry, and none
//! for a first attempt.

use std::time::Duration;

use temporal_agents_core::drive::guard::guarded;
use temporalio_client::{UntypedWorkflow, WorkflowDescribeOptions};
use temporalio_common::protos::temporal::api::{
    enums::v1::TimeoutType,
    failure::v1::{Failure, failure::FailureInfo},
};
use temporalio_sdk::activities::ActivityContext;
use tokio::time::timeout;

/// The longest time that an attempt waits for the answer of the server.
const PATIENCE: Duration = Duration::from_secs(2);
/// The failure type of an attempt that a worker has abandoned because it shut down.
const WORKER_SHUTDOWN: &str = "WorkerShutdown";

/// Returns the reason for which the attempt before this one was lost, if it was.
pub(crate) async fn lost_attempt(ctx: &ActivityContext) -> Option<String> {
    let info = ctx.info();
    let workflow_id = info.workflow_id.as_ref().filter(|_| info.attempt > 1 && !info.is_local)?;
    // The context of a test has no client, and panics.
    let client = guarded(|| ctx.client()).ok()?;
    let workflow = client.get_workflow_handle::<UntypedWorkflow>(workflow_id.as_str());
    let asked = timeout(PATIENCE, workflow.describe(WorkflowDescribeOptions::default())).await;
    let pending = asked.ok()?.ok()?.raw_description.pending_activities;
    let own = pending.into_iter().find(|pending| {
        pending.activity_id == info.activity_id && u32::try_from(pending.attempt).ok() == Some(info.attempt)
    })?;
    reason(&own.last_failure?)
}

fn reason(failure: &Failure) -> Option<String> {
    match failure.failure_info.as_ref()? {
        FailureInfo::TimeoutFailureInfo(info) if info.timeout_type() == TimeoutType::Heartbeat => {
            Some(NO_HEARTBEAT.to_owned())
        }
        FailureInfo::ApplicationFailureInfo(info) if info.r#type == WORKER_SHUTDOWN => Some(failure.message.clone()),
        _ => None,
    }
}

/// The reason for the loss of an attempt whose heartbeats have not reached the server.
pub(crate) const NO_HEARTBEAT: &str =
    "no heartbeat has reached the server within the heartbeat timeout: the worker has stopped, or was blocked";

#[cfg(test)]
mod tests {
    use temporalio_common::protos::temporal::api::failure::v1::{ApplicationFailureInfo, TimeoutFailureInfo};

    use super::*;

    fn failure(info: FailureInfo) -> Failure {
        Failure { message: "gone".to_owned(), failure_info: Some(info), ..Failure::default() }
    }

    fn timed_out(kind: TimeoutType) -> Failure {
        failure(FailureInfo::TimeoutFailureInfo(TimeoutFailureInfo {
            timeout_type: kind.into(),
            ..TimeoutFailureInfo::default()
        }))
    }

    fn of_type(name: &str) -> Failure {
        failure(FailureInfo::ApplicationFailureInfo(ApplicationFailureInfo {
            r#type: name.to_owned(),
            ..ApplicationFailureInfo::default()
        }))
    }

    #[test]
    fn only_a_loss_that_no_attempt_has_logged_has_a_reason() {
        assert_eq!(reason(&timed_out(TimeoutType::Heartbeat)).as_deref(), Some(NO_HEARTBEAT));
        assert_eq!(reason(&of_type(WORKER_SHUTDOWN)).as_deref(), Some("gone"));
        // The attempt itself has logged these.
        assert_eq!(reason(&timed_out(TimeoutType::StartToClose)), None);
        assert_eq!(reason(&of_type("ToolError")), None);
    }
}
