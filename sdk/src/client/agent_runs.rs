//! Starts runs and chats of ready-made workflows, from any process with a client of the server.

use serde_json::Value;
use temporal_agents_core::wire::{
    AgentRequest, ChatMessage, ChatRequest, error_debug,
    ready_made::{AGENT_WORKFLOW, CHAT_SEND, CHAT_WORKFLOW},
};
#[cfg(feature = "http")]
use temporal_agents_core::wire::{ChatReply, decode};
use temporalio_client::{
    Client, WorkflowDescribeOptions, WorkflowIdConflictPolicy, WorkflowIdReusePolicy, WorkflowStartOptions,
    WorkflowUpdateHandle, WorkflowUpdateWithStartOptions,
    errors::{WorkflowInteractionError, WorkflowStartError, WorkflowUpdateWithStartError},
};
#[cfg(feature = "http")]
use temporalio_client::{NamespacedClient, RpcOptions, grpc::WorkflowService};
#[cfg(feature = "http")]
use temporalio_common::protos::temporal::api::{
    common::v1::WorkflowExecution,
    enums::v1::UpdateWorkflowExecutionLifecycleStage,
    update::v1::{UpdateRef, WaitPolicy},
    workflowservice::v1::PollWorkflowExecutionUpdateRequest,
};
use temporalio_common::{HasWorkflowDefinition, UpdateDefinition, WorkflowDefinition};
use uuid::Uuid;

use super::new_run::{IdConflict, NewRun, Request};

/// Starts workflows on a task queue.
#[derive(Clone)]
pub(crate) struct WorkflowRuns {
    pub(crate) client: Client,
    pub(crate) task_queue: String,
    /// `true` if all workflows have the search attributes of runs.
    is_indexed: bool,
}

/// The failure to start a run.
#[derive(thiserror::Error)]
#[error("the run {id:?} could not be started: {source}")]
#[non_exhaustive]
pub struct StartRunError {
    /// Id of the run.
    pub id: String,
    /// The reason why nothing was started.
    pub(crate) reason: NotStarted,
    /// The server's error, or the problem with the request.
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

/// The reason why a run was not started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotStarted {
    /// The request is invalid.
    Invalid,
    /// A run with this id exists, and the request wants another one.
    Exists,
    /// The id is that of a workflow of another type, or on another task queue.
    Foreign,
    /// A chat with this id has ended, and the message was not sent.
    Ended,
    /// The server has refused the request, or is unavailable.
    Server,
    /// The database of the runs is unavailable.
    Database,
    /// The process has too many runs, or is stopping. Nothing was written.
    Overloaded,
}

error_debug!(struct StartRunError { id, reason, source });

impl StartRunError {
    pub(crate) fn new(
        id: &str,
        reason: NotStarted,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self { id: id.to_owned(), reason, source: source.into() }
    }

    /// Returns `true` if the id is taken: by a run that the request does not accept, by another
    /// workflow, or by a chat that has ended.
    pub fn is_conflict(&self) -> bool {
        match self.reason {
            NotStarted::Exists | NotStarted::Foreign | NotStarted::Ended => true,
            NotStarted::Invalid | NotStarted::Server | NotStarted::Database | NotStarted::Overloaded => false,
        }
    }
}

impl WorkflowRuns {
    pub(crate) fn new(client: &Client, task_queue: impl Into<String>) -> Self {
        Self { client: client.clone(), task_queue: task_queue.into(), is_indexed: false }
    }

    pub(crate) fn indexed(self) -> Self {
        Self { is_indexed: true, ..self }
    }

    /// Starts a run or a chat, and returns its id, which is the workflow's. By default a run with
    /// this id that exists already is not started again, whether or not it has ended, until the
    /// server has deleted it after the namespace's retention period; [`NewRun::id_conflict`]
    /// chooses otherwise.
    ///
    /// # Errors
    /// [`StartRunError`], if the request is invalid, the id is taken, or the server refuses the
    /// request or is unavailable.
    ///
    /// # Retries
    /// With an id, and unless the choice is otherwise, the same call may be repeated: it starts one
    /// run. Without an id, each call starts one.
    pub(crate) async fn start_run(&self, run: NewRun) -> Result<String, StartRunError> {
        let run = if self.is_indexed { run.indexed() } else { run };
        let id = run.id.clone().unwrap_or_else(|| Uuid::new_v4().to_string());
        run.check().map_err(|problem| StartRunError::new(&id, NotStarted::Invalid, problem))?;
        if run.id.is_some() {
            self.check_is_own(&id, run.workflow_type()).await?;
        }
        let (conflict, reuse) = run.id_conflict.policies();
        let options = WorkflowStartOptions::new(&*self.task_queue, &*id)
            .id_conflict_policy(conflict)
            .id_reuse_policy(reuse)
            .memo(run.memo_values())
            .maybe_search_attributes(run.search_attributes())
            .maybe_static_summary(run.static_summary())
            .maybe_static_details(run.static_details())
            .build();
        let wants_existing = run.id_conflict == IdConflict::UseExisting;
        let started = match run.request {
            Request::Run(request) => self.client.start_workflow(RunType, *request, options).await.map(drop),
            Request::Chat(request) => self.client.start_workflow(ChatType, *request, options).await.map(drop),
        };
        let reason = match &started {
            Ok(()) => return Ok(id),
            Err(WorkflowStartError::AlreadyStarted { .. }) if wants_existing => return Ok(id),
            Err(WorkflowStartError::AlreadyStarted { .. }) => NotStarted::Exists,
            Err(WorkflowStartError::Rpc(status)) if status.code() == tonic::Code::InvalidArgument => {
                NotStarted::Invalid
            }
            Err(_) => NotStarted::Server,
        };
        started.map_err(|error| StartRunError::new(&id, reason, error)).map(|()| id)
    }

    /// Checks that no other workflow has this id: it would be taken for the run, or be terminated.
    async fn check_is_own(&self, id: &str, workflow_type: &str) -> Result<(), StartRunError> {
        let handle = self.client.get_workflow_handle::<RunType>(id);
        let described = match handle.describe(WorkflowDescribeOptions::default()).await {
            Ok(described) => described,
            Err(WorkflowInteractionError::NotFound(_)) => return Ok(()),
            Err(error) => return Err(StartRunError::new(id, NotStarted::Server, error)),
        };
        if described.workflow_type() == workflow_type && described.task_queue() == self.task_queue {
            return Ok(());
        }
        let problem = format!(
            "the id is that of a workflow {:?} on the task queue {:?}; choose another one",
            described.workflow_type(),
            described.task_queue()
        );
        Err(StartRunError::new(id, NotStarted::Foreign, problem))
    }

    /// Returns `true` if a workflow with this id exists.
    pub(crate) async fn has(&self, id: &str) -> Result<bool, StartRunError> {
        let handle = self.client.get_workflow_handle::<RunType>(id);
        match handle.describe(WorkflowDescribeOptions::default()).await {
            Ok(_) => Ok(true),
            Err(WorkflowInteractionError::NotFound(_)) => Ok(false),
            Err(error) => Err(StartRunError::new(id, NotStarted::Server, error)),
        }
    }

    /// Sends a message to a chat, which is started if it does not run. Returns once the chat has
    /// accepted the message. A message with the same id counts once. `reuse` decides whether the message
    /// starts a chat again that has ended.
    pub(crate) async fn send(
        &self,
        id: &str,
        run: NewRun,
        message: ChatMessage,
        reuse: WorkflowIdReusePolicy,
    ) -> Result<WorkflowUpdateHandle<Client, Value>, StartRunError> {
        let run = run.first_message(&message.text);
        let run = if self.is_indexed { run.indexed() } else { run };
        let memo = run.memo_values();
        let summary = run.static_summary();
        let conflict = WorkflowIdConflictPolicy::UseExisting;
        let options = WorkflowUpdateWithStartOptions::new(&*self.task_queue, id, conflict)
            .id_reuse_policy(reuse)
            .maybe_update_id(message.id.clone())
            .memo(memo)
            .maybe_search_attributes(run.search_attributes())
            .maybe_static_summary(summary)
            .build();
        let Request::Chat(chat) = run.request else {
            return Err(StartRunError::new(id, NotStarted::Invalid, "a message is for a chat"));
        };
        let sent = self.client.start_update_with_start_workflow(ChatType, *chat, SendMessage, message, options).await;
        sent.map_err(|error| {
            let has_ended =
                matches!(&error, WorkflowUpdateWithStartError::Start(WorkflowStartError::AlreadyStarted { .. }));
            StartRunError::new(id, if has_ended { NotStarted::Ended } else { NotStarted::Server }, error)
        })
    }

    /// Returns the reply to a message that was sent, if there is one by now: a chat that refuses a
    /// message does so at once. `None` also if the server cannot say.
    #[cfg(feature = "http")]
    pub(crate) async fn reply_by_now(&self, sent: &WorkflowUpdateHandle<Client, Value>) -> Option<ChatReply> {
        let request = PollWorkflowExecutionUpdateRequest {
            namespace: self.client.namespace(),
            update_ref: Some(UpdateRef {
                workflow_execution: Some(WorkflowExecution {
                    workflow_id: sent.workflow_id().to_owned(),
                    run_id: sent.workflow_run_id().unwrap_or_default().to_owned(),
                }),
                update_id: sent.id().to_owned(),
            }),
            identity: self.client.identity(),
            // It has been accepted, so that the server answers at once.
            wait_policy: Some(WaitPolicy { lifecycle_stage: UpdateWorkflowExecutionLifecycleStage::Accepted.into() }),
        };
        let mut client = self.client.clone();
        let polled = WorkflowService::poll_workflow_execution_update(&mut client, tonic::Request::new(request)).await;
        polled.ok()?.into_inner().outcome?;
        let reply = sent.get_result(RpcOptions::default()).await.ok()?;
        decode("chat reply", reply).ok()
    }
}

impl std::fmt::Debug for WorkflowRuns {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WorkflowRuns").field("task_queue", &self.task_queue).finish_non_exhaustive()
    }
}

/// A run, as the client names its type.
pub(crate) struct RunType;
/// A chat, as the client names its type.
pub(crate) struct ChatType;
struct SendMessage;

impl WorkflowDefinition for RunType {
    type Input = AgentRequest;
    type Output = Value;

    fn name(&self) -> &str {
        AGENT_WORKFLOW
    }
}

impl HasWorkflowDefinition for RunType {
    type Run = Self;
}

impl WorkflowDefinition for ChatType {
    type Input = ChatRequest;
    type Output = Value;

    fn name(&self) -> &str {
        CHAT_WORKFLOW
    }
}

impl HasWorkflowDefinition for ChatType {
    type Run = Self;
}

impl UpdateDefinition for SendMessage {
    type Workflow = ChatType;
    type Input = ChatMessage;
    type Output = Value;

    fn name(&self) -> &str {
        CHAT_SEND
    }
}
