//! Starts runs and chats of ready-made workflows, from any process with a client of the server.

use std::collections::BTreeMap;

use serde_json::Value;
use temporalio_client::{
    Client, WorkflowIdConflictPolicy, WorkflowIdReusePolicy, WorkflowStartOptions, WorkflowUpdateHandle,
    WorkflowUpdateWithStartOptions,
    errors::{WorkflowStartError, WorkflowUpdateWithStartError},
};
use temporalio_common::{HasWorkflowDefinition, MemoValues, UpdateDefinition, WorkflowDefinition};
use uuid::Uuid;

use crate::wire::{
    AgentRequest, ChatMessage, ChatRequest, error_debug,
    ready_made::{AGENT_WORKFLOW, CHAT_SEND, CHAT_WORKFLOW},
};

/// Key of the memo with the name of the start agent.
pub(crate) const AGENT_MEMO: &str = "agents.agent";
/// Key of the memo with the thread of a run.
pub(crate) const THREAD_MEMO: &str = "agents.thread";
/// Key of the memo with the labels of a run.
pub(crate) const LABELS_MEMO: &str = "agents.labels";

/// Starts runs (`AgentWorkflow`) and chats (`ChatWorkflow`) on a task queue.
///
/// ```no_run
/// use temporal_agents::{client::{AgentRuns, NewRun}, wire::AgentRequest};
/// # async fn start(
/// #     client: &temporalio_client::Client,
/// # ) -> Result<(), Box<dyn std::error::Error>> {
///
/// let runs = AgentRuns::new(client, "support");
/// let request = AgentRequest::new("triage", "Where is my parcel?");
/// let id = runs.start_run(NewRun::new(request).id("parcel-7").label("customer", "4711")).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct AgentRuns {
    client: Client,
    task_queue: String,
}

/// A run or a chat that is to be started.
#[derive(Clone, Debug)]
pub struct NewRun {
    request: Request,
    id: Option<String>,
    labels: BTreeMap<String, String>,
}

#[derive(Clone, Debug)]
enum Request {
    Run(Box<AgentRequest>),
    Chat(Box<ChatRequest>),
}

/// The failure to start a run.
#[derive(thiserror::Error)]
#[error("the run {id:?} could not be started: {source}")]
#[non_exhaustive]
pub struct StartRunError {
    /// Id of the run.
    pub id: String,
    /// `true` if a chat with this id has ended, and the message was not sent.
    pub(crate) has_ended: bool,
    /// The server's error.
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

error_debug!(struct StartRunError { id, has_ended, source });

impl NewRun {
    /// Returns a run of this request.
    pub fn new(request: AgentRequest) -> Self {
        Self { request: Request::Run(Box::new(request)), id: None, labels: BTreeMap::new() }
    }

    /// Returns a chat of this request.
    pub fn chat(request: ChatRequest) -> Self {
        Self { request: Request::Chat(Box::new(request)), id: None, labels: BTreeMap::new() }
    }

    /// Sets the id, which is the workflow's. A run that is started again with the same id is the
    /// same run, also after its end. Default: a random id.
    #[must_use]
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Adds a label, which lists of runs show. Labels are recorded in the workflow's memo.
    #[must_use]
    pub fn label(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.labels.insert(name.into(), value.into());
        self
    }

    fn agent(&self) -> Option<&str> {
        match &self.request {
            Request::Run(request) => request.agent.as_deref(),
            Request::Chat(request) => request.agent.as_deref(),
        }
    }

    fn memo(&self) -> MemoValues {
        let mut memo = MemoValues::new();
        if let Some(agent) = self.agent() {
            memo.insert(AGENT_MEMO, agent.to_owned());
        }
        if let Request::Run(request) = &self.request
            && let Some(thread) = &request.thread
        {
            memo.insert(THREAD_MEMO, thread.clone());
        }
        if !self.labels.is_empty() {
            memo.insert(LABELS_MEMO, self.labels.clone());
        }
        memo
    }
}

impl AgentRuns {
    /// Creates a starter of runs on this task queue; sends nothing yet.
    pub fn new(client: &Client, task_queue: impl Into<String>) -> Self {
        Self { client: client.clone(), task_queue: task_queue.into() }
    }

    /// Starts a run or a chat, and returns its id, which is the workflow's. A run with this id that
    /// exists already is not started again, whether or not it has ended, until the server has
    /// deleted it after the namespace's retention period.
    ///
    /// # Errors
    /// [`StartRunError`], if the server refuses the request or is unavailable.
    ///
    /// # Retries
    /// With an id, the same call may be repeated: it starts one run. Without, each call starts one.
    pub async fn start_run(&self, run: NewRun) -> Result<String, StartRunError> {
        let id = run.id.clone().unwrap_or_else(|| Uuid::new_v4().to_string());
        let options = WorkflowStartOptions::new(&*self.task_queue, &*id)
            .id_conflict_policy(WorkflowIdConflictPolicy::UseExisting)
            .id_reuse_policy(WorkflowIdReusePolicy::RejectDuplicate)
            .memo(run.memo())
            .maybe_static_summary(run.agent().map(str::to_owned))
            .build();
        let started = match run.request {
            Request::Run(request) => self.client.start_workflow(RunType, *request, options).await.map(drop),
            Request::Chat(request) => self.client.start_workflow(ChatType, *request, options).await.map(drop),
        };
        match started {
            Ok(()) | Err(WorkflowStartError::AlreadyStarted { .. }) => Ok(id),
            Err(error) => Err(StartRunError { id, has_ended: false, source: error.into() }),
        }
    }

    /// Sends a message to a chat, which is started if it does not run. Returns once the chat has
    /// accepted the message. A message with the same id counts once.
    pub(crate) async fn send(
        &self,
        id: &str,
        chat: ChatRequest,
        message: ChatMessage,
    ) -> Result<WorkflowUpdateHandle<Client, Value>, StartRunError> {
        let memo = NewRun::chat(chat.clone()).memo();
        let summary = chat.agent.clone();
        let conflict = WorkflowIdConflictPolicy::UseExisting;
        let options = WorkflowUpdateWithStartOptions::new(&*self.task_queue, id, conflict)
            // A message that is sent again must not begin a chat that has ended anew.
            .id_reuse_policy(WorkflowIdReusePolicy::RejectDuplicate)
            .maybe_update_id(message.id.clone())
            .memo(memo)
            .maybe_static_summary(summary)
            .build();
        let sent = self.client.start_update_with_start_workflow(ChatType, chat, SendMessage, message, options).await;
        sent.map_err(|error| {
            let has_ended =
                matches!(&error, WorkflowUpdateWithStartError::Start(WorkflowStartError::AlreadyStarted { .. }));
            StartRunError { id: id.to_owned(), has_ended, source: error.into() }
        })
    }
}

impl std::fmt::Debug for AgentRuns {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentRuns").field("task_queue", &self.task_queue).finish_non_exhaustive()
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
