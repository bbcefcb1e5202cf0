//! Sends messages to a `ChatWorkflow`, from outside the workflow and by workflow id alone.

use std::{sync::Arc, time::Duration};

use serde_json::Value;
use temporal_agents_core::wire::{
    ChatMessage, ChatOutcome, ChatReply, ChatTranscript, decode,
    ready_made::{CHAT_END, CHAT_REPLY, CHAT_SEND, CHAT_TRANSCRIPT},
};
use temporalio_client::{
    Client, WorkflowExecuteUpdateOptions, WorkflowHandle, WorkflowQueryOptions, errors::WorkflowUpdateError,
};
use temporalio_common::{QueryDefinition, UntypedWorkflow, UpdateDefinition};
use uuid::Uuid;

use super::agent_handle::{AgentHandleError, query_error, update_error};

/// The maximum number of times that an update is sent to a workflow that is closing, because it
/// continues as new.
const MAX_UPDATE_ATTEMPTS: u32 = 10;
/// The pause between two of these attempts.
const PAUSE: Duration = Duration::from_millis(50);
/// The pauses between two queries for a reply that is not ready yet. Each is twice the pause before
/// it, from [`INITIAL_QUERY_PAUSE`] up to [`MAX_QUERY_PAUSE`]. Queries are not recorded in
/// history.
const INITIAL_QUERY_PAUSE: Duration = Duration::from_millis(250);
const MAX_QUERY_PAUSE: Duration = Duration::from_secs(2);
/// The timeout after which a query is sent again. SDK core drops queries that it has buffered for a
/// run which it then evicts from its cache.
const QUERY_TIMEOUT: Duration = Duration::from_secs(5);

/// A handle to a chat, for the user's side of it.
///
/// ```no_run
/// use temporal_agents::{client::ChatHandle, wire::ChatOutcome};
/// # async fn talk(client: &temporalio_client::Client) -> Result<(), Box<dyn std::error::Error>> {
///
/// let chat = ChatHandle::new(client, "chat-7");
/// let reply = chat.send("Do you have books about islands?").await?;
/// if let ChatOutcome::Answered { output } = reply.outcome {
///     println!("{output}");
/// }
/// chat.end().await?;
/// # Ok(())
/// # }
/// ```
///
/// After continue-as-new, the handle refers to the same chat: a message that was in flight is sent
/// again, and counts once.
#[derive(Clone)]
pub struct ChatHandle(Arc<WorkflowHandle<Client, UntypedWorkflow>>);

impl ChatHandle {
    /// Creates a handle to the latest run of the workflow with this id; sends nothing yet.
    pub fn new(client: &Client, workflow_id: impl Into<String>) -> Self {
        Self(Arc::new(client.get_workflow_handle(workflow_id)))
    }

    /// Sends a message and waits for the reply, without a time limit.
    ///
    /// # Errors
    /// [`AgentHandleError`]. A run that has failed is not an error, see [`ChatOutcome`].
    pub async fn send(&self, text: impl Into<String>) -> Result<ChatReply, AgentHandleError> {
        self.send_as(Uuid::new_v4().to_string(), text).await
    }

    /// Sends a message under an id of the caller's choice. A message that is sent again, also by
    /// another process, counts once, and the reply is the same.
    ///
    /// The chat remembers the ids of its latest 100 replies, or of fewer if these together exceed
    /// 128 KiB. A message that is sent again after that counts as a new one.
    ///
    /// # Errors
    /// [`AgentHandleError`].
    pub async fn send_as(&self, id: impl Into<String>, text: impl Into<String>) -> Result<ChatReply, AgentHandleError> {
        let id = id.into();
        let message = ChatMessage::new(&*id, text);
        let mut pause = INITIAL_QUERY_PAUSE;
        loop {
            let reply: ChatReply = self.update(Send, message.clone()).await?;
            if reply.outcome != ChatOutcome::GoesOn {
                return Ok(reply);
            }
            if let Some(reply) = self.answer(&id, &mut pause).await {
                return Ok(reply);
            }
        }
    }

    /// Waits for the reply to a message that the chat has accepted, without sending it again;
    /// `None` if the chat does not know it.
    pub(crate) async fn reply_to(&self, id: &str) -> Option<ChatReply> {
        self.answer(id, &mut { INITIAL_QUERY_PAUSE }).await
    }

    /// Waits for the reply to a message that the chat has accepted. Returns `None` if the message
    /// must be sent again: the chat does not know it, or no worker answers the query.
    async fn answer(&self, id: &str, pause: &mut Duration) -> Option<ChatReply> {
        loop {
            tokio::time::sleep(*pause).await;
            *pause = MAX_QUERY_PAUSE.min(*pause * 2);
            let query = self.0.query(Reply, id.to_owned(), WorkflowQueryOptions::default());
            let Ok(asked) = tokio::time::timeout(QUERY_TIMEOUT, query).await else { continue };
            let reply: ChatReply = decode("chat reply", asked.ok().filter(|reply| !reply.is_null())?).ok()?;
            if reply.outcome != ChatOutcome::GoesOn {
                return Some(reply);
            }
        }
    }

    /// Returns the transcript of the chat so far. A worker must be running to answer, even after
    /// the chat has ended.
    ///
    /// # Errors
    /// [`AgentHandleError`].
    pub async fn transcript(&self) -> Result<ChatTranscript, AgentHandleError> {
        let asked = self.0.query(Transcript, (), WorkflowQueryOptions::default()).await;
        Ok(decode("chat transcript", asked.map_err(|error| query_error(&self.workflow_id(), error))?)?)
    }

    /// Ends the chat, after all messages have been answered.
    ///
    /// # Errors
    /// [`AgentHandleError`].
    pub async fn end(&self) -> Result<(), AgentHandleError> {
        self.update(End, ()).await.map(drop)
    }

    /// Sends an update, and retries it while the workflow is closing, because it continues as new
    /// or has ended.
    async fn update<U>(&self, update: U, input: U::Input) -> Result<ChatReply, AgentHandleError>
    where
        U: UpdateDefinition<Workflow = UntypedWorkflow, Output = Value> + Copy,
        U::Input: std::marker::Send + Clone,
    {
        let mut attempt = 1;
        loop {
            let options = WorkflowExecuteUpdateOptions::default();
            match self.0.execute_update(update, input.clone(), options).await {
                Err(WorkflowUpdateError::NotFound(_) | WorkflowUpdateError::Rpc(_))
                    if attempt < MAX_UPDATE_ATTEMPTS =>
                {
                    attempt += 1;
                    tokio::time::sleep(PAUSE).await;
                }
                Err(error) => return Err(update_error(&self.workflow_id(), error)),
                Ok(reply) => return Ok(decode("chat reply", reply)?),
            }
        }
    }

    fn workflow_id(&self) -> String {
        self.0.info().workflow_id.clone()
    }
}

impl std::fmt::Debug for ChatHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ChatHandle").field(&self.0.info().workflow_id).finish()
    }
}

/// Client-side definitions of the handlers. Results are read as JSON first, so that their version
/// can be checked.
#[derive(Clone, Copy)]
struct Send;
#[derive(Clone, Copy)]
struct End;
struct Transcript;
struct Reply;

impl UpdateDefinition for Send {
    type Workflow = UntypedWorkflow;
    type Input = ChatMessage;
    type Output = Value;

    fn name(&self) -> &str {
        CHAT_SEND
    }
}

impl UpdateDefinition for End {
    type Workflow = UntypedWorkflow;
    type Input = ();
    type Output = Value;

    fn name(&self) -> &str {
        CHAT_END
    }
}

impl QueryDefinition for Transcript {
    type Workflow = UntypedWorkflow;
    type Input = ();
    type Output = Value;

    fn name(&self) -> &str {
        CHAT_TRANSCRIPT
    }
}

impl QueryDefinition for Reply {
    type Workflow = UntypedWorkflow;
    type Input = String;
    type Output = Value;

    fn name(&self) -> &str {
        CHAT_REPLY
    }
}
