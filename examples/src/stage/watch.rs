//! Follows a workflow to its end.

use temporal_agents_testing::history::History;
use temporalio_client::{Client, NamespacedClient, grpc::WorkflowService};
use temporalio_common::protos::temporal::api::{
    common::v1::WorkflowExecution, enums::v1::EventType, history::v1::history_event::Attributes,
    workflow::v1::PendingActivityInfo, workflowservice::v1::DescribeWorkflowExecutionRequest,
};

use super::progress::{INTERVAL, Progress};

/// Prints the run's progress until the workflow has ended, and returns its history.
///
/// # Errors
/// The server does not answer.
pub async fn watch(client: &Client, workflow_id: &str, progress: &mut Progress) -> anyhow::Result<History> {
    loop {
        let history = progress.look(client, workflow_id).await?;
        if has_ended(&history) {
            return Ok(history);
        }
        for activity in pending(client, workflow_id).await? {
            if let Some(failure) = activity.last_failure.as_ref().filter(|_| activity.attempt > 1) {
                progress.tell_retry(&activity.activity_id, activity.attempt, &failure.message);
            }
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

/// Returns `true` if the workflow has ended, with any outcome.
pub fn has_ended(history: &History) -> bool {
    history.events.last().is_some_and(|event| {
        matches!(
            event.event_type(),
            EventType::WorkflowExecutionCompleted
                | EventType::WorkflowExecutionFailed
                | EventType::WorkflowExecutionTimedOut
                | EventType::WorkflowExecutionCanceled
                | EventType::WorkflowExecutionTerminated
        )
    })
}

/// Returns the activities of a workflow that have not ended.
///
/// # Errors
/// The server does not answer.
pub async fn pending(client: &Client, workflow_id: &str) -> anyhow::Result<Vec<PendingActivityInfo>> {
    let request = DescribeWorkflowExecutionRequest {
        namespace: client.namespace(),
        execution: Some(WorkflowExecution { workflow_id: workflow_id.to_owned(), run_id: String::new() }),
    };
    let mut client = client.clone();
    let described = WorkflowService::describe_workflow_execution(&mut client, tonic::Request::new(request)).await?;
    Ok(described.into_inner().pending_activities)
}

/// Returns the message of the innermost failure that ended the workflow.
pub fn failure_of(history: &History) -> String {
    let mut failure = history.events.iter().rev().find_map(|event| match &event.attributes {
        Some(Attributes::WorkflowExecutionFailedEventAttributes(failed)) => failed.failure.as_ref(),
        _ => None,
    });
    while let Some(cause) = failure.and_then(|failure| failure.cause.as_deref()) {
        failure = Some(cause);
    }
    failure.map_or_else(|| "it was cancelled or timed out".to_owned(), |failure| failure.message.clone())
}
