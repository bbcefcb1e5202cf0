//! Reads the events of a workflow from the server, oldest first, page by page: at most one page of
//! encoded events is in memory. For a running workflow, it also reads the attempts of pending
//! activities, which are not in history yet.

use temporalio_client::{Client, NamespacedClient, grpc::WorkflowService};
use temporalio_common::protos::temporal::api::{
    common::v1::WorkflowExecution,
    workflowservice::v1::{DescribeWorkflowExecutionRequest, GetWorkflowExecutionHistoryRequest},
};
use tonic::Code;

use super::{Transcript, TranscriptError, assemble, events::Events, shape::End};

/// Maximum number of events in a page.
const PAGE: i32 = 500;

/// Reads the workflow's events and creates the transcript.
///
/// # Errors
/// [`TranscriptError`].
pub(super) async fn transcript(
    client: &Client,
    workflow_id: &str,
    run_id: Option<&str>,
) -> Result<Transcript, TranscriptError> {
    let mut client = client.clone();
    let converter = client.data_converter().clone();
    let namespace = client.namespace();
    let mut events = Events::new(&converter);
    // The token of the previous page, which keeps all pages in the same run.
    let mut next_page_token = Vec::new();
    let mut maximum_page_size = PAGE;
    loop {
        let request = GetWorkflowExecutionHistoryRequest {
            namespace: namespace.clone(),
            execution: Some(WorkflowExecution {
                workflow_id: workflow_id.to_owned(),
                run_id: run_id.unwrap_or_default().to_owned(),
            }),
            maximum_page_size,
            next_page_token: next_page_token.clone(),
            ..GetWorkflowExecutionHistoryRequest::default()
        };
        let answer = WorkflowService::get_workflow_execution_history(&mut client, tonic::Request::new(request)).await;
        let page = match answer {
            Ok(page) => page.into_inner(),
            // The page is larger than a message may be: a smaller one is requested.
            Err(status)
                if matches!(status.code(), Code::OutOfRange | Code::ResourceExhausted) && maximum_page_size > 1 =>
            {
                maximum_page_size = (maximum_page_size / 10).max(1);
                continue;
            }
            // A malformed run id is an invalid argument.
            Err(status)
                if status.code() == Code::NotFound || (status.code() == Code::InvalidArgument && run_id.is_some()) =>
            {
                return Err(TranscriptError::NotFound {
                    workflow_id: workflow_id.to_owned(),
                    run_id: run_id.map(str::to_owned),
                    namespace,
                });
            }
            Err(status) => return Err(status.into()),
        };
        for event in page.history.unwrap_or_default().events {
            events.take(event).await?;
        }
        next_page_token = page.next_page_token;
        if next_page_token.is_empty() {
            break;
        }
    }
    if events.end == End::Running {
        pending(&mut client, &mut events, workflow_id, run_id).await?;
    }
    assemble::transcript(events)
}

/// Reads the attempts of pending activities: history records an attempt only when it was the last.
async fn pending(
    client: &mut Client,
    events: &mut Events<'_>,
    workflow_id: &str,
    run_id: Option<&str>,
) -> Result<(), TranscriptError> {
    let request = DescribeWorkflowExecutionRequest {
        namespace: client.namespace(),
        execution: Some(WorkflowExecution {
            workflow_id: workflow_id.to_owned(),
            run_id: run_id.unwrap_or_default().to_owned(),
        }),
    };
    let described = WorkflowService::describe_workflow_execution(client, tonic::Request::new(request)).await?;
    for activity in described.into_inner().pending_activities {
        let attempt = u32::try_from(activity.attempt).unwrap_or_default();
        events.under_way(&activity.activity_id, attempt, activity.last_failure).await;
    }
    Ok(())
}
