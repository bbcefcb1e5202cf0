//! Ends of runs: those in histories, and those of workflows that the server has deleted.

use std::time::SystemTime;

use temporal_agents_core::wire::{EventKind, RecordedFailure, RunEvent, RunStatus};
use temporalio_client::{Client, NamespacedClient, grpc::WorkflowService};
use temporalio_common::protos::temporal::api::{
    enums::v1::WorkflowExecutionStatus, workflowservice::v1::DescribeNamespaceRequest,
};

use super::{
    Shared,
    follow::{FollowError, Followed},
    origin::{Described, describe},
};
use crate::{
    client::{cursor_before, execution_of, transcript::End},
    events::rfc3339,
    store::sql::runs::{Appended, NewEvents, RunEnd, RunRow, millis},
};

/// Returns the end of a run whose history has this end at this time (RFC 3339).
pub(super) fn end_of_chain(end: End, time: &str, now: SystemTime) -> RunEnd {
    let time = time.parse::<prost_types::Timestamp>().ok().and_then(|time| SystemTime::try_from(time).ok());
    let (status, output, failure) = match end {
        End::Completed { result } => (RunStatus::Completed, Some(result), None),
        End::Failed { failure } => (RunStatus::Failed, None, Some(failure)),
        End::Cancelled => (RunStatus::Cancelled, None, None),
        End::Terminated { reason } => (RunStatus::Terminated, None, Some(RecordedFailure::new("Terminated", reason))),
        End::TimedOut => (RunStatus::TimedOut, None, None),
        // A chain does not end with these.
        End::Running | End::ContinuedAsNew { .. } => (RunStatus::Gone, None, None),
    };
    RunEnd { status, at: millis(time.unwrap_or(now)), output, failure }
}

/// Continues with the latest execution of a workflow, if the server has deleted the one in the row;
/// ends the row of a workflow that it has deleted as a whole.
pub(super) async fn gone_or_moved(shared: &Shared, row: RunRow) -> Result<Option<Followed>, FollowError> {
    let latest = describe(&shared.client, &row.id, None).await?.filter(|latest| latest.first == row.key);
    let Some(latest) = latest else {
        if row.ended_at.is_none() {
            if !has_namespace(&shared.client).await {
                return Ok(Some(Followed::Failed));
            }
            return end_gone(shared, &row).await;
        }
        return Ok(Some(Followed::Done));
    };
    let reached = row.cursor.as_deref().and_then(execution_of).unwrap_or_else(|| row.key.clone());
    if reached != latest.execution {
        let cursor = Some(cursor_before(&latest.execution));
        let new = NewEvents { cursor, execution: Some(latest.execution), ..NewEvents::default() };
        shared.store.append_events(&row, &new).await?;
        return Ok(None);
    }
    let Some(end) = described_end(&latest) else { return Ok(Some(Followed::Failed)) };
    let new = NewEvents { end: Some(end), ..NewEvents::default() };
    Ok(match shared.store.append_events(&row, &new).await? {
        Appended::Written(_) | Appended::Lost(None) => Some(Followed::Done),
        Appended::Lost(Some(_)) => None,
    })
}

/// Ends the row of a workflow that was deleted before its end was read.
async fn end_gone(shared: &Shared, row: &RunRow) -> Result<Option<Followed>, FollowError> {
    let message = "the server has deleted the workflow before its end was read";
    let failure = RecordedFailure::new("WorkflowDeleted", message);
    let now = SystemTime::now();
    let mut event = RunEvent::new(EventKind::RunFailed { failure: failure.clone(), usage: None });
    event.id = format!("workflow~{}/gone", row.key);
    event.time = rfc3339(now);
    let end = RunEnd { status: RunStatus::Gone, at: millis(now), output: None, failure: Some(failure) };
    let new = NewEvents { events: vec![event], end: Some(end), ..NewEvents::default() };
    Ok(match shared.store.append_events(row, &new).await? {
        Appended::Written(_) | Appended::Lost(None) => Some(Followed::Done),
        Appended::Lost(Some(_)) => None,
    })
}

/// Returns the end of a workflow whose history was cut.
fn described_end(described: &Described) -> Option<RunEnd> {
    let status = match described.info.status() {
        WorkflowExecutionStatus::Completed => RunStatus::Completed,
        WorkflowExecutionStatus::Failed => RunStatus::Failed,
        WorkflowExecutionStatus::Canceled => RunStatus::Cancelled,
        WorkflowExecutionStatus::Terminated => RunStatus::Terminated,
        WorkflowExecutionStatus::TimedOut => RunStatus::TimedOut,
        _ => return None,
    };
    let at = described.info.close_time.and_then(|time| SystemTime::try_from(time).ok());
    Some(RunEnd { status, at: millis(at.unwrap_or_else(SystemTime::now)), output: None, failure: None })
}

/// Returns `true` if the server has the namespace: without it, it knows no workflow.
async fn has_namespace(client: &Client) -> bool {
    let request = DescribeNamespaceRequest { namespace: client.namespace(), ..DescribeNamespaceRequest::default() };
    WorkflowService::describe_namespace(&mut client.clone(), tonic::Request::new(request)).await.is_ok()
}
