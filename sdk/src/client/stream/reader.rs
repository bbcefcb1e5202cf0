//! The polls of a subscriber, as the official SDKs make them.
//!
//! A poll is an update of the latest execution, which the workflow answers when it has items. When
//! it fails, its type or the status of the polled execution says what to do: begin again from the
//! oldest item, wait, follow the workflow to its next execution, or read the rest by query. An
//! execution that admits no more polls is read by query while it runs.

use std::{collections::VecDeque, time::Duration};

use temporalio_client::{
    Client, NamespacedClient, RpcOptions, WorkflowDescribeOptions, WorkflowExecutionDescription, WorkflowExecutionInfo,
    WorkflowExecutionStatus, WorkflowHandle, WorkflowQueryOptions, WorkflowStartUpdateOptions,
    errors::{WorkflowInteractionError, WorkflowQueryError, WorkflowUpdateError},
};
use temporalio_common::{
    QueryDefinition, UntypedWorkflow, UpdateDefinition,
    protos::temporal::api::failure::v1::{Failure, failure::FailureInfo},
};
use tokio::time::{sleep, timeout};

use super::{WorkflowStreamError, WorkflowStreamItem, is_transient};
use crate::workflow::stream::messages::{
    PollInput, PollResult, STREAM_POLL, STREAM_POLLS_USED_UP, StreamItem, decode_payload,
};

/// The pause between two polls.
const POLL_PAUSE: Duration = Duration::from_millis(100);
/// The pause after a request that may succeed if it is sent again.
const RETRY_PAUSE: Duration = Duration::from_secs(1);
/// The pause between two queries of an execution that admits no more polls.
const QUERY_PAUSE: Duration = Duration::from_secs(5);
/// The first timeout after which a query is sent again; each is twice the timeout before it. SDK
/// core drops queries that it has buffered for a run which it then evicts from its cache.
const FIRST_QUERY_TIMEOUT: Duration = Duration::from_secs(5);
const LONGEST_QUERY_TIMEOUT: Duration = Duration::from_mins(2);
/// The failures of official hosts: the offset was truncated, the workflow is about to continue as
/// new.
const TRUNCATED_OFFSET: &str = "TruncatedOffset";
const STREAM_DRAINING: &str = "StreamDraining";

/// Reads the items of a stream, one page after the other.
pub(super) struct Reader {
    client: Client,
    workflow_id: String,
    pub(super) input: PollInput,
    page: VecDeque<StreamItem>,
    rest: Rest,
    query_timeout: Duration,
}

/// The items after the page.
#[derive(Clone)]
enum Rest {
    /// There are more now.
    Ready,
    /// There may be more later.
    Later,
    /// The execution admits no more polls; its stream is read by query as long as it runs.
    ByQuery(String),
    /// The execution has ended; its stream is read by query.
    OfClosedRun(String),
    None,
}

/// The result of a poll that has no items.
enum Missed {
    /// The poll is sent again after a pause.
    Again(Duration),
    /// This execution admits no more polls.
    UsedUp { run_id: Option<String> },
    /// The update of this execution failed, or the update could not be sent.
    Failed { run_id: Option<String>, error: WorkflowUpdateError },
}

impl Reader {
    pub(super) fn new(client: Client, workflow_id: String) -> Self {
        let (input, page) = (PollInput::default(), VecDeque::new());
        Self { client, workflow_id, input, page, rest: Rest::Ready, query_timeout: FIRST_QUERY_TIMEOUT }
    }

    /// Returns the next item; `None` after the last.
    pub(super) async fn next(&mut self) -> Result<Option<WorkflowStreamItem>, WorkflowStreamError> {
        loop {
            if let Some(StreamItem { topic, data, offset }) = self.page.pop_front() {
                let payload = decode_payload(&data).unwrap_or_default();
                return Ok(Some(WorkflowStreamItem { topic, offset, payload }));
            }
            match self.rest.clone() {
                Rest::None => return Ok(None),
                Rest::OfClosedRun(run_id) => self.drain(&run_id).await?,
                Rest::ByQuery(run_id) => self.poll_by_query(run_id).await?,
                rest => {
                    if let Rest::Later = rest {
                        sleep(POLL_PAUSE).await;
                    }
                    self.poll().await?;
                }
            }
        }
    }

    /// Waits for the next page.
    async fn poll(&mut self) -> Result<(), WorkflowStreamError> {
        match self.update().await {
            Ok(result) => {
                self.rest = if result.more_ready { Rest::Ready } else { Rest::Later };
                self.take(result);
                Ok(())
            }
            Err(Missed::Again(pause)) => {
                sleep(pause).await;
                self.rest = Rest::Ready;
                Ok(())
            }
            Err(Missed::UsedUp { run_id }) => {
                let Some(described) = self.describe(run_id).await? else { return Ok(()) };
                self.rest = Rest::ByQuery(described.run_id().to_owned());
                Ok(())
            }
            Err(Missed::Failed { run_id, error }) => self.follow(run_id, error).await,
        }
    }

    async fn update(&mut self) -> Result<PollResult, Missed> {
        let workflow = self.client.get_workflow_handle::<UntypedWorkflow>(&*self.workflow_id);
        let started =
            workflow.start_update(PollUpdate, self.input.clone(), WorkflowStartUpdateOptions::default()).await;
        let update = started.map_err(|error| self.missed(None, error))?;
        let run_id = update.workflow_run_id().map(str::to_owned);
        update.get_result(RpcOptions::default()).await.map_err(|error| self.missed(run_id, error))
    }

    fn missed(&mut self, run_id: Option<String>, error: WorkflowUpdateError) -> Missed {
        match &error {
            WorkflowUpdateError::Failed(failure) if is_of_type(failure, TRUNCATED_OFFSET) => {
                self.input.from_offset = 0;
                Missed::Again(Duration::ZERO)
            }
            WorkflowUpdateError::Failed(failure) if is_of_type(failure, STREAM_DRAINING) => Missed::Again(POLL_PAUSE),
            WorkflowUpdateError::Failed(failure) if failure.message.starts_with(STREAM_POLLS_USED_UP) => {
                Missed::UsedUp { run_id }
            }
            WorkflowUpdateError::Rpc(status) if is_of_failed_task(status) => Missed::Again(POLL_PAUSE),
            WorkflowUpdateError::Rpc(status) if is_transient(status) => Missed::Again(RETRY_PAUSE),
            _ => Missed::Failed { run_id, error },
        }
    }

    /// Decides by the status of the polled execution how to continue.
    async fn follow(&mut self, run_id: Option<String>, error: WorkflowUpdateError) -> Result<(), WorkflowStreamError> {
        let Some(described) = self.describe(run_id.clone()).await? else { return Ok(()) };
        let is_missing = matches!(error, WorkflowUpdateError::NotFound(_));
        self.rest = match described.status() {
            WorkflowExecutionStatus::ContinuedAsNew => Rest::Later,
            // The execution that was not found may have continued as new meanwhile.
            WorkflowExecutionStatus::Running if is_missing && run_id.is_none() => Rest::Later,
            WorkflowExecutionStatus::Running => return Err(self.refused(error)),
            _ => Rest::OfClosedRun(described.run_id().to_owned()),
        };
        Ok(())
    }

    /// Returns the description of an execution, or of the latest one; `None` after a pause if the
    /// server is unavailable.
    async fn describe(
        &self,
        run_id: Option<String>,
    ) -> Result<Option<WorkflowExecutionDescription>, WorkflowStreamError> {
        match self.handle(run_id).describe(WorkflowDescribeOptions::default()).await {
            Ok(described) => Ok(Some(described)),
            Err(WorkflowInteractionError::NotFound(_)) => {
                Err(WorkflowStreamError::NotFound { workflow_id: self.workflow_id.clone() })
            }
            Err(WorkflowInteractionError::Rpc(status)) if is_transient(&status) => {
                sleep(RETRY_PAUSE).await;
                Ok(None)
            }
            Err(error) => Err(WorkflowStreamError::Describe(error)),
        }
    }

    /// Reads new items by query from an execution that admits no more polls, while it is the latest.
    async fn poll_by_query(&mut self, run_id: String) -> Result<(), WorkflowStreamError> {
        let Some(described) = self.describe(None).await? else { return Ok(()) };
        match described.status() {
            WorkflowExecutionStatus::Running if described.run_id() == run_id => {
                self.drain(&run_id).await?;
                if self.page.is_empty() {
                    sleep(QUERY_PAUSE).await;
                }
                self.rest = Rest::ByQuery(run_id);
            }
            WorkflowExecutionStatus::Running | WorkflowExecutionStatus::ContinuedAsNew => self.rest = Rest::Later,
            _ => self.rest = Rest::OfClosedRun(described.run_id().to_owned()),
        }
        Ok(())
    }

    /// Reads the next page of an execution by query. If there is no more, or the workflow has no
    /// such query, the stream ends.
    async fn drain(&mut self, run_id: &str) -> Result<(), WorkflowStreamError> {
        let workflow = self.handle(Some(run_id.to_owned()));
        let query = workflow.query(PollQuery, self.input.clone(), WorkflowQueryOptions::default());
        let Ok(result) = timeout(self.query_timeout, query).await else {
            self.query_timeout = (self.query_timeout * 2).min(LONGEST_QUERY_TIMEOUT);
            return Ok(());
        };
        match result {
            Ok(result) => {
                if !result.more_ready {
                    self.rest = Rest::None;
                }
                self.take(result);
            }
            Err(WorkflowQueryError::Rpc(status)) if is_transient(&status) => sleep(RETRY_PAUSE).await,
            Err(WorkflowQueryError::Rpc(status)) if is_of_missing_handler(&status) => self.rest = Rest::None,
            Err(error) => return Err(WorkflowStreamError::Query(error)),
        }
        Ok(())
    }

    fn take(&mut self, result: PollResult) {
        self.input.from_offset = result.next_offset;
        self.page = result.items.into();
    }

    fn refused(&self, error: WorkflowUpdateError) -> WorkflowStreamError {
        match error {
            WorkflowUpdateError::Failed(failure) => {
                WorkflowStreamError::Refused { workflow_id: self.workflow_id.clone(), message: failure.message }
            }
            error => WorkflowStreamError::Poll(error),
        }
    }

    /// Returns a handle to an execution, or to the latest one.
    fn handle(&self, run_id: Option<String>) -> WorkflowHandle<Client, UntypedWorkflow> {
        let execution = WorkflowExecutionInfo::builder()
            .namespace(self.client.namespace())
            .workflow_id(&*self.workflow_id)
            .maybe_run_id(run_id)
            .build();
        execution.bind_untyped(self.client.clone())
    }
}

/// Returns `true` if the poll was lost with a workflow task. The server fails a task that ends the
/// execution while a signal arrives, and with it the updates that the task has not answered.
fn is_of_failed_task(status: &tonic::Status) -> bool {
    status.code() == tonic::Code::FailedPrecondition && status.message().contains("workflow task failure")
}

/// Returns `true` if the workflow has no such query. The SDKs have no code for that, but all of
/// them name the query, which the failure of a history that does not replay does not.
fn is_of_missing_handler(status: &tonic::Status) -> bool {
    status.code() == tonic::Code::InvalidArgument && status.message().contains(STREAM_POLL)
}

/// Returns `true` if the failure, or one behind it, is an application failure of this type.
fn is_of_type(failure: &Failure, name: &str) -> bool {
    let mut chain = std::iter::successors(Some(failure), |failure| failure.cause.as_deref());
    chain.any(|failure| match &failure.failure_info {
        Some(FailureInfo::ApplicationFailureInfo(info)) => info.r#type == name,
        _ => false,
    })
}

/// Client-side definitions of the handlers.
struct PollUpdate;
struct PollQuery;

impl UpdateDefinition for PollUpdate {
    type Workflow = UntypedWorkflow;
    type Input = PollInput;
    type Output = PollResult;

    fn name(&self) -> &str {
        STREAM_POLL
    }
}

impl QueryDefinition for PollQuery {
    type Workflow = UntypedWorkflow;
    type Input = PollInput;
    type Output = PollResult;

    fn name(&self) -> &str {
        STREAM_POLL
    }
}

#[cfg(test)]
mod tests;
