//! Fetches the history of a workflow from the server.

use temporalio_client::{
    Client, UntypedWorkflowHandle, WorkflowExecutionInfo, WorkflowFetchHistoryOptions, errors::WorkflowInteractionError,
};
use temporalio_common::protos::temporal::api::history::v1::History;

/// Fetches the history of a workflow up to its current end; without a run id, that of its latest
/// run.
///
/// # Errors
///
/// The client's error, in most cases because the client's namespace has no such workflow.
pub async fn fetch(
    client: &Client,
    workflow_id: &str,
    run_id: Option<&str>,
) -> Result<History, WorkflowInteractionError> {
    let workflow = WorkflowExecutionInfo::builder()
        .namespace(client.options().namespace.as_str())
        .workflow_id(workflow_id)
        .maybe_run_id(run_id)
        .build();
    let handle: UntypedWorkflowHandle<Client> = workflow.bind_untyped(client.clone());
    let pages = handle.fetch_history(WorkflowFetchHistoryOptions::default());
    Ok(History { events: pages.into_events().await? })
}
