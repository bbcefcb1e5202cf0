//! A thread of a frontend: a chat, found by the names of its agent and its thread.

use std::{collections::BTreeSet, sync::Arc};

use temporal_agents_core::wire::{AgentState, ChatMessage, ChatRequest, ChatTranscript, RunMode};

use super::{
    access::Caller,
    answers::{self, Answer},
    error::ApiError,
    places::AcceptedMessage,
    runs::{Found, Row, find},
    service::Shared,
    turn::{Target, Turn, TurnStart},
};

/// Maximum bytes of the id of a thread or a message.
const MAX_ID_BYTES: usize = 200;
/// Maximum bytes of a message with its id; a chat refuses longer ones.
const MAX_MESSAGE_BYTES: usize = 128 * 1024;

/// A chat of an agent.
pub(super) struct Thread {
    shared: Arc<Shared>,
    caller: Caller,
    agent: String,
    mode: RunMode,
    pub(super) workflow_id: String,
    /// The latest execution (Temporal's run id), if the chat exists.
    execution: Option<String>,
}

impl Thread {
    /// Returns the thread of this agent, which need not exist yet.
    ///
    /// # Errors
    /// 404 for an unknown agent, 400 for an invalid id, 403, 409 if the id is that of another run.
    pub(super) async fn find(
        shared: &Arc<Shared>,
        caller: &Caller,
        agent: &str,
        thread: &str,
    ) -> Result<Self, ApiError> {
        shared.startable(caller, agent)?;
        check_id("thread", thread)?;
        let workflow_id = format!("{}:{thread}", agent.replace('%', "%25").replace(':', "%3A"));
        if !shared.access.may_see(caller, &workflow_id) {
            return Err(ApiError::forbidden("see this thread"));
        }
        let is_thread = |row: &Row| row.is_chat() && row.agent.as_deref() == Some(agent);
        match find(shared, &workflow_id).await? {
            Found::Run(row) if !is_thread(&row) => Err(ApiError::other_run(&workflow_id)),
            Found::Foreign => Err(ApiError::other_run(&workflow_id)),
            Found::Run(row) => Ok(Self::new(shared, caller, agent, (row.mode, workflow_id), Some(row.execution))),
            // A thread that begins has the mode of the service.
            Found::Nothing => Ok(Self::new(shared, caller, agent, (shared.runs.default_mode(), workflow_id), None)),
        }
    }

    fn new(
        shared: &Arc<Shared>,
        caller: &Caller,
        agent: &str,
        (mode, workflow_id): (RunMode, String),
        execution: Option<String>,
    ) -> Self {
        let (shared, caller, agent) = (Arc::clone(shared), caller.clone(), agent.to_owned());
        Self { shared, caller, agent, mode, workflow_id, execution }
    }

    /// Sends a message, and returns the turn that answers it. The same message id is the same turn.
    ///
    /// The first message of a thread selects its toolsets. A later message may repeat them, or pass `None`.
    ///
    /// # Errors
    /// 400 for an invalid id, 403, 409 if the thread has ended and is not kept in a store, 504 if no worker
    /// accepts the message.
    pub(super) async fn send(
        &self,
        message_id: &str,
        text: &str,
        toolsets: Option<Vec<String>>,
    ) -> Result<Turn, ApiError> {
        check_message(message_id, text)?;
        self.shared.check_may_decide(&self.caller, &self.workflow_id)?;
        self.shared.check_may_select(toolsets.as_deref().unwrap_or_default())?;
        let mut chat = ChatRequest::new(&*self.agent);
        chat.user.clone_from(&self.caller.name);
        chat.toolsets = toolsets.clone().unwrap_or_default();
        chat.thread = self.shared.chat_thread(&self.caller, &self.workflow_id)?;
        let mut message = ChatMessage::new(message_id, text);
        message.toolsets = toolsets;
        let AcceptedMessage { reply, execution } =
            self.shared.send(self.mode, &self.workflow_id, chat, message).await?;
        // The message may have started the chat again.
        let execution = self.execution.clone().map(|found| execution.unwrap_or(found));
        let start = self.start_of(message_id, execution.as_deref()).await;
        Turn::new(&self.shared, self.run(), Target::Message(message_id.to_owned()), start, reply)
    }

    /// Returns the place from which the turn of a message reads; `execution` is the thread's latest.
    async fn start_of(&self, message_id: &str, execution: Option<&str>) -> TurnStart {
        TurnStart::of_message(&self.shared, self.run(), execution, message_id).await
    }

    /// Sends the answers to calls that wait, and returns the turn that continues after them.
    /// `request_id` makes a repeated request the same updates.
    ///
    /// # Errors
    /// 400 for an invalid id, 403, and those of [`answers::send`].
    pub(super) async fn answer(&self, request_id: &str, answers: Vec<Answer>) -> Result<Turn, ApiError> {
        check_id("run", request_id)?;
        self.shared.check_may_decide(&self.caller, &self.workflow_id)?;
        let questions: BTreeSet<String> = answers.iter().map(|answer| answer.question().to_owned()).collect();
        let are_new = answers::send(&self.shared, &self.caller, self.run(), request_id, answers).await?;
        // Calls that have waited until now are those of the latest execution. The decisions of a
        // request that is sent again may be in an earlier one.
        let start = if are_new {
            TurnStart::of_execution(&self.shared, self.run(), self.execution.as_deref()).await
        } else {
            TurnStart::default()
        };
        Turn::new(&self.shared, self.run(), Target::Decided(questions), start, None)
    }

    fn run(&self) -> (RunMode, &str) {
        (self.mode, &self.workflow_id)
    }

    /// Returns the calls that wait, and the answers so far; `None` if the thread does not exist.
    ///
    /// # Errors
    /// 504 if no worker answers: without the calls a request cannot be understood.
    pub(super) async fn state(&self) -> Result<Option<AgentState>, ApiError> {
        self.shared.state(self.mode, &self.workflow_id).await
    }

    /// Returns the conversation, and the turn that is open, if one is.
    ///
    /// # Errors
    /// 404 if the thread does not exist.
    pub(super) async fn open(&self) -> Result<(ChatTranscript, Option<Turn>), ApiError> {
        let transcript = self.shared.transcript(self.mode, &self.workflow_id).await?;
        let current = transcript.current.as_ref().and_then(|message| message.id.clone());
        let Some(id) = current else { return Ok((transcript, None)) };
        let start = self.start_of(&id, self.execution.as_deref()).await;
        let reply = self.shared.reply_to(self.mode, &self.workflow_id, &id)?;
        Ok((transcript, Some(Turn::new(&self.shared, self.run(), Target::Open(id), start, Some(reply))?)))
    }
}

/// Checks an id that a client has chosen for a thread, a message or a request.
///
/// # Errors
/// 400.
pub(super) fn check_id(what: &str, id: &str) -> Result<(), ApiError> {
    if id.is_empty() || id.len() > MAX_ID_BYTES || id.starts_with('#') || id.chars().any(char::is_control) {
        let message = format!(
            "the id of the {what} must have 1 to {MAX_ID_BYTES} bytes, no control characters, and must not begin \
             with #"
        );
        return Err(ApiError::invalid(message));
    }
    Ok(())
}

/// Checks a message and its id.
///
/// # Errors
/// 400.
pub(super) fn check_message(id: &str, text: &str) -> Result<(), ApiError> {
    check_id("message", id)?;
    if id.len() + text.len() > MAX_MESSAGE_BYTES {
        let message = format!("the message is too long: the limit is {MAX_MESSAGE_BYTES} bytes");
        return Err(ApiError::invalid(message));
    }
    Ok(())
}
