//! The history of one execution, page by page, by long poll.

use std::time::Duration;

use temporalio_client::{Client, NamespacedClient, grpc::WorkflowService};
use temporalio_common::protos::temporal::api::{
    common::v1::WorkflowExecution,
    history::v1::HistoryEvent,
    workflowservice::v1::{
        DescribeWorkflowExecutionRequest, DescribeWorkflowExecutionResponse, GetWorkflowExecutionHistoryRequest,
    },
};
use tokio::time::sleep;
use tonic::Code;

use super::{RunEventsError, poll_slots::POLL_SLOTS};

/// Maximum number of events in a page.
const PAGE: i32 = 500;
/// The pauses between two attempts to reach the server: the first one, and the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// The time limit of a request; the server ends a long poll after some 20 s.
const TIME_LIMIT: Duration = Duration::from_mins(1);

/// The history of one execution.
#[derive(Clone)]
pub(super) struct Pages {
    client: Client,
    workflow_id: String,
    execution: String,
    /// The server's token of the next page.
    token: Vec<u8>,
    page_size: i32,
    /// Id of the last event that was read.
    last_event: i64,
    /// `true` if the next request probably waits for news.
    is_at_present: bool,
    has_ended: bool,
}

/// The latest execution of a workflow, and the first of its chain.
pub(super) struct Described {
    /// Temporal's run id of the first execution of the chain.
    pub(super) first: String,
    /// Temporal's run id.
    pub(super) execution: String,
    /// Temporal's run id of the execution as which this one was reset; empty if it was not.
    pub(super) reset_as: String,
}

impl Pages {
    pub(super) fn new(client: &Client, workflow_id: &str, execution: &str) -> Self {
        Self {
            client: client.clone(),
            workflow_id: workflow_id.to_owned(),
            execution: execution.to_owned(),
            token: Vec::new(),
            page_size: PAGE,
            last_event: 0,
            is_at_present: false,
            has_ended: false,
        }
    }

    /// Returns a reader whose first page is the first event alone.
    #[cfg(feature = "http")]
    pub(super) fn first_event(client: &Client, workflow_id: &str, execution: &str) -> Self {
        Self { page_size: 1, ..Self::new(client, workflow_id, execution) }
    }

    /// Returns the next events; none if the server has none for some 20 s, `None` after the last
    /// page. Waits as long as the server is unavailable.
    ///
    /// # Errors
    /// [`RunEventsError`] when the server refuses the request.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<HistoryEvent>>, RunEventsError> {
        let (mut pause, mut failures) = (FIRST_PAUSE, 0);
        while !self.has_ended {
            let answer = if self.is_at_present {
                let Some(answer) = POLL_SLOTS.poll(self.request()).await else { continue };
                answer
            } else {
                self.request().await
            };
            match answer {
                Ok(events) => {
                    self.page_size = (self.page_size * 2).min(PAGE);
                    return Ok(Some(events));
                }
                // The page is larger than a message may be, so a smaller one is requested.
                Err(status) if is_too_large(&status) => {
                    if self.page_size == 1 {
                        return Err(error(&self.client, &self.workflow_id, Some(&self.execution), status));
                    }
                    self.page_size = (self.page_size / 10).max(1);
                    sleep(FIRST_PAUSE).await;
                }
                Err(status) if is_permanent(&status) && (self.token.is_empty() || status.code() == Code::NotFound) => {
                    return Err(error(&self.client, &self.workflow_id, Some(&self.execution), status));
                }
                Err(status) => {
                    tracing::debug!(workflow = self.workflow_id, %status, "the history cannot be read; trying again");
                    failures += u32::from(status.code() != Code::ResourceExhausted);
                    if failures > 1 {
                        // The token may be of a server that no longer exists.
                        self.token.clear();
                    }
                    sleep(pause).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
            }
        }
        Ok(None)
    }

    async fn request(&mut self) -> Result<Vec<HistoryEvent>, tonic::Status> {
        let mut request = tonic::Request::new(GetWorkflowExecutionHistoryRequest {
            namespace: self.client.namespace(),
            execution: Some(WorkflowExecution {
                workflow_id: self.workflow_id.clone(),
                run_id: self.execution.clone(),
            }),
            maximum_page_size: self.page_size,
            next_page_token: self.token.clone(),
            wait_new_event: true,
            ..GetWorkflowExecutionHistoryRequest::default()
        });
        request.set_timeout(TIME_LIMIT);
        let answer = WorkflowService::get_workflow_execution_history(&mut self.client, request).await?.into_inner();
        self.token = answer.next_page_token;
        self.has_ended = self.token.is_empty();
        let mut events = answer.history.unwrap_or_default().events;
        self.is_at_present = i32::try_from(events.len()).is_ok_and(|count| count < self.page_size);
        // After a new token, the history begins again.
        events.retain(|event| event.event_id > self.last_event);
        if let Some(event) = events.last() {
            self.last_event = event.event_id;
        }
        Ok(events)
    }
}

/// Describes an execution of a workflow; without a run id, the latest one.
///
/// # Errors
/// [`RunEventsError`] when the server refuses the request.
pub(super) async fn describe(
    client: &Client,
    workflow_id: &str,
    run_id: Option<&str>,
) -> Result<Described, RunEventsError> {
    let described = described(client, workflow_id, run_id).await?;
    let info = described.workflow_execution_info.unwrap_or_default();
    let run_id = info.execution.unwrap_or_default().run_id;
    Ok(Described {
        first: Some(info.first_run_id).filter(|id| !id.is_empty()).unwrap_or_else(|| run_id.clone()),
        execution: run_id,
        reset_as: described.workflow_extended_info.unwrap_or_default().reset_run_id,
    })
}

/// Requests the description of an execution, until the server is available.
///
/// # Errors
/// [`RunEventsError`] when the server refuses the request.
pub(crate) async fn described(
    client: &Client,
    workflow_id: &str,
    run_id: Option<&str>,
) -> Result<DescribeWorkflowExecutionResponse, RunEventsError> {
    let mut pause = FIRST_PAUSE;
    loop {
        let mut request = tonic::Request::new(DescribeWorkflowExecutionRequest {
            namespace: client.namespace(),
            execution: Some(WorkflowExecution {
                workflow_id: workflow_id.to_owned(),
                run_id: run_id.unwrap_or_default().to_owned(),
            }),
        });
        request.set_timeout(TIME_LIMIT);
        match WorkflowService::describe_workflow_execution(&mut client.clone(), request).await {
            Ok(described) => return Ok(described.into_inner()),
            Err(status) if is_permanent(&status) => return Err(error(client, workflow_id, run_id, status)),
            Err(_) => {
                sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
    }
}

/// Returns `true` if the page is larger than a message may be. A server that limits the rate of
/// requests answers with the same code: smaller pages would only lead to more requests.
fn is_too_large(status: &tonic::Status) -> bool {
    match status.code() {
        Code::OutOfRange => true,
        // The words of gRPC in Go, which the SDK also reads.
        Code::ResourceExhausted => status.message().contains("larger than max"),
        _ => false,
    }
}

/// Returns `true` if the server will answer a later request in the same way.
fn is_permanent(status: &tonic::Status) -> bool {
    matches!(
        status.code(),
        Code::NotFound | Code::InvalidArgument | Code::PermissionDenied | Code::Unauthenticated | Code::Unimplemented
    )
}

fn error(client: &Client, workflow_id: &str, run_id: Option<&str>, status: tonic::Status) -> RunEventsError {
    let workflow_id = workflow_id.to_owned();
    let has_run_id = run_id.is_some();
    match status.code() {
        // A malformed run id is an invalid argument.
        Code::NotFound | Code::InvalidArgument if has_run_id || status.code() == Code::NotFound => {
            RunEventsError::NotFound { workflow_id, run_id: run_id.map(str::to_owned), namespace: client.namespace() }
        }
        _ => RunEventsError::Server { workflow_id, source: Box::new(status) },
    }
}

#[cfg(test)]
mod tests;
