//! An approver that starts one workflow for each question.

use std::time::Duration;

use futures::{FutureExt, TryStreamExt, future::BoxFuture};
use serde::de::DeserializeOwned;
use temporal_agents_core::{
    drive::guard::{Panic, guarded},
    tool::BoxError,
    wire::{
        AgentInterruption, ApprovalRequest, ApprovalRuling, WIRE_VERSION,
        approval::APPROVAL_WORKFLOW,
        asked_questions::{AskedQuestions, QUESTIONS_MEMO},
        run_state::Decision,
    },
};
use temporalio_client::{
    Client, NamespacedClient, UntypedWorkflow, WorkflowGetResultOptions, WorkflowHandle, WorkflowIdConflictPolicy,
    WorkflowIdReusePolicy, WorkflowListOptions, WorkflowStartOptions,
    errors::{ClientError, WorkflowGetResultError, WorkflowStartError},
    grpc::WorkflowService,
};
use temporalio_common::{
    MemoValues,
    data_converters::{RawValue, SerializationContextData, WorkflowSerializationContext},
    protos::temporal::api::{
        common::v1::WorkflowExecution,
        history::v1::{WorkflowExecutionStartedEventAttributes, history_event::Attributes},
        workflowservice::v1::GetWorkflowExecutionHistoryRequest,
    },
};
use temporalio_sdk::activities::ActivityContext;
use tokio::time::sleep;

use super::approver::{Approver, Asked};
use crate::client::{AGENT_MEMO, AgentHandle, TITLE_MEMO, title_of};

/// Message to the model when the workflow ended without a ruling.
const NO_RULING: &str = "The call was not approved: the question was closed without a decision.";
/// Extra execution timeout of the workflow beyond its timer, for a worker that is unavailable when
/// the timer is due.
const EXECUTION_TIMEOUT_MARGIN: Duration = Duration::from_mins(10);
/// The pause before a request to an unavailable server is repeated.
const PAUSE: Duration = Duration::from_secs(1);

/// The error of an activity without a client that could start a workflow.
#[derive(Debug, thiserror::Error)]
#[error(
    "WorkflowApprover needs a client to start a workflow, and the activity has none ({message}); in a test without \
     a server, use an approver of the test"
)]
struct NoClient {
    message: String,
}

/// Starts a workflow for each call that waits, and uses its result as the decision. The workflow's
/// id identifies the call permanently (`<workflow of the activity>-approval-<tool>-<id>`). Another
/// attempt of the activity therefore waits for the same workflow, including one that has ended in
/// the meantime. A workflow with that id that is of another type, on another task queue, or about
/// another call decides nothing, and fails the attempt.
///
/// The workflow is the ready-made [`ApprovalWorkflow`](crate::workflow::ApprovalWorkflow), or one
/// of your own, in any language, that accepts an [`ApprovalRequest`] and returns an
/// [`ApprovalRuling`].
#[derive(Clone, Debug)]
pub struct WorkflowApprover {
    workflow_type: String,
    task_queue: Option<String>,
    timeout: Duration,
}

impl Default for WorkflowApprover {
    fn default() -> Self {
        Self::new()
    }
}

impl WorkflowApprover {
    /// Creates an approver with the ready-made workflow, on the activity's own task queue; calls
    /// are rejected after 24 hours.
    pub fn new() -> Self {
        Self { workflow_type: APPROVAL_WORKFLOW.to_owned(), task_queue: None, timeout: Duration::from_hours(24) }
    }

    /// Sets the type of the workflow.
    #[must_use]
    pub fn workflow_type(mut self, name: impl Into<String>) -> Self {
        self.workflow_type = name.into();
        self
    }

    /// Sets the task queue of the workflow.
    #[must_use]
    pub fn task_queue(mut self, name: impl Into<String>) -> Self {
        self.task_queue = Some(name.into());
        self
    }

    /// Sets the time that the workflow waits for a decision, in whole seconds. It must fit in the
    /// activity's start-to-close timeout. Default 24 hours.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Returns the open questions of the sessions of a workflow: a handle to each, to read the call
    /// and to decide. They come from the server's visibility store, so a question that was just
    /// asked may be missing for a moment.
    ///
    /// # Errors
    /// [`ClientError`] of a failed request to the server.
    pub async fn pending(client: &Client, workflow_id: &str) -> Result<Vec<AgentHandle>, ClientError> {
        let prefix = format!("{workflow_id}-approval-");
        let quoted = prefix.replace('\\', "\\\\").replace('\'', "\\'");
        let query = format!("WorkflowId STARTS_WITH '{quoted}' AND ExecutionStatus = 'Running'");
        let found = client.list_workflows(query, WorkflowListOptions::default());
        found.map_ok(|workflow| AgentHandle::new(client, workflow.id())).try_collect().await
    }

    /// Returns the id of the workflow in which a call is decided.
    fn workflow_id(asked: &Asked<'_>) -> String {
        let activity = asked.activity.info();
        let of = activity.workflow_id.as_deref().unwrap_or(&activity.activity_id);
        // Tool names come from authors, those of MCP servers from third parties.
        let tool: String =
            asked.interruption.tool.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').take(64).collect();
        format!("{of}-approval-{tool}-{}", asked.id)
    }

    /// Returns a handle to the workflow, started or found.
    async fn started(
        &self,
        client: &Client,
        asked: &Asked<'_>,
    ) -> Result<WorkflowHandle<Client, UntypedWorkflow>, BoxError> {
        let id = Self::workflow_id(asked);
        let task_queue = self.task_queue.clone().unwrap_or_else(|| asked.activity.info().task_queue.clone());
        let request = ApprovalRequest {
            version: WIRE_VERSION,
            call: asked.interruption.clone().into(),
            timeout_seconds: self.timeout.as_secs().max(1),
        };
        let memo = memo_of(&request.call);
        let converter = client.options().data_converter.payload_converter().clone();
        let handle = loop {
            let input = RawValue::from_value(&request, &converter);
            let options = WorkflowStartOptions::new(task_queue.clone(), id.clone())
                .id_reuse_policy(WorkflowIdReusePolicy::RejectDuplicate)
                .id_conflict_policy(WorkflowIdConflictPolicy::UseExisting)
                .execution_timeout(self.timeout.saturating_add(EXECUTION_TIMEOUT_MARGIN))
                .memo(memo.clone())
                .build();
            match client.start_workflow(UntypedWorkflow::new(&*self.workflow_type), input, options).await {
                Ok(handle) => break handle,
                Err(WorkflowStartError::AlreadyStarted { .. }) => break client.get_workflow_handle(&*id),
                Err(WorkflowStartError::Rpc(status)) if is_passing(&status) => sleep(PAUSE).await,
                Err(error) => return Err(error.into()),
            }
        };
        self.check_question(client, &id, &task_queue, &request.call).await?;
        Ok(handle)
    }

    /// Checks that the workflow with this id is the one about this call: its result counts as the
    /// decision, and another client may have started a different workflow with that id.
    async fn check_question(
        &self,
        client: &Client,
        id: &str,
        task_queue: &str,
        call: &AgentInterruption,
    ) -> Result<(), BoxError> {
        let another = |what: String| WrongWorkflow { workflow_id: id.to_owned(), what };
        let started = first_event(client, id).await?.ok_or_else(|| another("has no first event".to_owned()))?;
        let workflow_type = started.workflow_type.unwrap_or_default().name;
        if workflow_type != self.workflow_type {
            return Err(another(format!("is of type {workflow_type:?}, not {:?}", self.workflow_type)).into());
        }
        let found = started.task_queue.unwrap_or_default().name;
        if found != task_queue {
            return Err(another(format!("is on task queue {found:?}, not {task_queue:?}")).into());
        }
        let input = RawValue::new(started.input.unwrap_or_default().payloads);
        match read::<ApprovalRequest>(client, input).await {
            Ok(asks) if asks.call == *call => Ok(()),
            Ok(_) => Err(another("is about another call".to_owned()).into()),
            Err(error) => Err(another(format!("has an input that is not an approval request: {error}")).into()),
        }
    }
}

/// Returns the memo by which lists of workflows show the question. The workflow ends with the
/// decision, so the memo never changes.
fn memo_of(call: &AgentInterruption) -> MemoValues {
    let asked = AskedQuestions::new(&*call.agent, 0, [call.clone()]);
    let mut memo = MemoValues::new();
    memo.insert(AGENT_MEMO, call.agent.clone());
    if let Some(title) = title_of(&format!("{} wants to call {}", call.agent, call.tool)) {
        memo.insert(TITLE_MEMO, title);
    }
    if let Ok(asked) = serde_json::to_value(asked) {
        memo.insert(QUESTIONS_MEMO, asked);
    }
    memo
}

/// The error of a question whose id belongs to a different workflow.
#[derive(Debug, thiserror::Error)]
#[error(
    "workflow {workflow_id:?} is not the approval workflow of this call: it {what}; its result is not used as a \
     decision. Check which clients start workflows with ids of approvals"
)]
struct WrongWorkflow {
    workflow_id: String,
    what: String,
}

/// Returns the attributes of the first event of the workflow with this id: of its first execution
/// where it has continued as new.
async fn first_event(
    client: &Client,
    workflow_id: &str,
) -> Result<Option<WorkflowExecutionStartedEventAttributes>, tonic::Status> {
    let mut client = client.clone();
    let mut run_id = String::new();
    loop {
        let request = GetWorkflowExecutionHistoryRequest {
            namespace: client.namespace(),
            execution: Some(WorkflowExecution { workflow_id: workflow_id.to_owned(), run_id: run_id.clone() }),
            maximum_page_size: 1,
            ..GetWorkflowExecutionHistoryRequest::default()
        };
        let answer = WorkflowService::get_workflow_execution_history(&mut client, tonic::Request::new(request)).await;
        let history = match answer {
            Ok(answer) => answer.into_inner().history.unwrap_or_default(),
            Err(status) if is_passing(&status) => {
                sleep(PAUSE).await;
                continue;
            }
            Err(status) => return Err(status),
        };
        let first = history.events.into_iter().next().and_then(|event| event.attributes);
        let Some(Attributes::WorkflowExecutionStartedEventAttributes(started)) = first else { return Ok(None) };
        if started.continued_execution_run_id.is_empty() || started.first_execution_run_id == run_id {
            return Ok(Some(started));
        }
        run_id = started.first_execution_run_id;
    }
}

impl Approver for WorkflowApprover {
    fn decide<'a>(&'a self, asked: Asked<'a>) -> BoxFuture<'a, Result<ApprovalRuling, BoxError>> {
        async move {
            let client = client(asked.activity)?;
            let handle = self.started(&client, &asked).await?;
            loop {
                match handle.get_result(WorkflowGetResultOptions::default()).await {
                    Ok(ruling) => return read(&client, ruling).await,
                    Err(WorkflowGetResultError::Rpc(status)) if is_passing(&status) => sleep(PAUSE).await,
                    Err(error) if error.is_workflow_outcome() => {
                        tracing::warn!(%error, "an approval workflow has ended without a ruling");
                        return Ok(Decision::reject_with(NO_RULING).into());
                    }
                    Err(error) => return Err(error.into()),
                }
            }
        }
        .boxed()
    }
}

/// Returns the worker's client. A context without a client panics, which becomes the error.
fn client(activity: &ActivityContext) -> Result<Client, NoClient> {
    guarded(|| activity.client()).map_err(|Panic { message }| NoClient { message })
}

async fn read<T: DeserializeOwned + 'static>(client: &Client, value: RawValue) -> Result<T, BoxError> {
    let context = SerializationContextData::Workflow(WorkflowSerializationContext::new());
    let converter = &client.options().data_converter;
    Ok(converter.from_payloads(&context, value.payloads).await?)
}

fn is_passing(status: &tonic::Status) -> bool {
    use tonic::Code;
    matches!(
        status.code(),
        Code::Unavailable
            | Code::DeadlineExceeded
            | Code::ResourceExhausted
            | Code::Internal
            | Code::Unknown
            | Code::Aborted
    )
}
