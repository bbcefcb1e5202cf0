//! The events of a workflow run, newest first, page by page.

use temporalio_client::{Client, grpc::WorkflowService};
use temporalio_common::protos::temporal::api::{
    common::v1::WorkflowExecution, history::v1::HistoryEvent,
    workflowservice::v1::GetWorkflowExecutionHistoryReverseRequest,
};

use super::cache::RunKey;

/// The number of events in the first page. The page size grows, since the event in question is
/// often only a few events back.
const FIRST_PAGE: i32 = 20;
/// The maximum number of events in a page.
const LARGEST_PAGE: i32 = 200;

/// A history that is read page by page.
pub(crate) struct NewestFirst {
    client: Client,
    request: GetWorkflowExecutionHistoryReverseRequest,
    is_at_end: bool,
}

impl NewestFirst {
    /// Creates a reader of this run's history; nothing is read yet.
    pub(crate) fn of(client: &Client, key: &RunKey) -> Self {
        let RunKey { namespace, workflow_id, run_id } = key.clone();
        let request = GetWorkflowExecutionHistoryReverseRequest {
            namespace,
            execution: Some(WorkflowExecution { workflow_id, run_id }),
            maximum_page_size: FIRST_PAGE,
            next_page_token: Vec::new(),
        };
        Self { client: client.clone(), request, is_at_end: false }
    }

    /// Returns the next page, or `None` after the first event of the history.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<HistoryEvent>>, tonic::Status> {
        while !self.is_at_end {
            let request = tonic::Request::new(self.request.clone());
            let page = match WorkflowService::get_workflow_execution_history_reverse(&mut self.client, request).await {
                Ok(page) => page.into_inner(),
                Err(status) if is_too_large(&status) && self.request.maximum_page_size > 1 => {
                    // The page is larger than a message may be: a smaller one is requested.
                    self.request.maximum_page_size = (self.request.maximum_page_size / 10).max(1);
                    continue;
                }
                Err(status) => return Err(status),
            };
            self.request.maximum_page_size = (self.request.maximum_page_size * 2).min(LARGEST_PAGE);
            self.is_at_end = page.next_page_token.is_empty();
            self.request.next_page_token = page.next_page_token;
            return Ok(Some(page.history.unwrap_or_default().events));
        }
        Ok(None)
    }
}

/// `true` if a response was larger than a message may be. A rate limit has the same code, and
/// requires fewer requests, not smaller ones.
fn is_too_large(status: &tonic::Status) -> bool {
    match status.code() {
        tonic::Code::OutOfRange => true,
        tonic::Code::ResourceExhausted => status.message().contains("larger than max"),
        _ => false,
    }
}
