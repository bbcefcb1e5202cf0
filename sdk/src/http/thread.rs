//! A thread of a frontend: a chat, found by the names of its agent and its thread.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use futures::{FutureExt, future::BoxFuture};
use serde_json::Value;
use temporalio_client::{Client, RpcOptions, WorkflowUpdateHandle};
use tokio::time::timeout;

use super::{
    access::Caller,
    error::ApiError,
    service::Shared,
    turn::{Target, Turn},
};
use crate::{
    client::{AgentHandle, AgentHandleError, ChatHandle},
    wire::{
        AgentDecision, AgentInterruption, ChatMessage, ChatOutcome, ChatReply, ChatRequest, ChatTranscript,
        DecisionAnswer, SuppliedOutput, decode,
    },
};

/// Maximum bytes of the id of a thread or a message.
const MAX_ID_BYTES: usize = 200;

/// Time in which a worker must answer a query.
const QUERY_TIMEOUT: Duration = Duration::from_secs(10);

/// A chat of an agent.
pub(super) struct Thread {
    shared: Arc<Shared>,
    caller: Caller,
    agent: String,
    pub(super) workflow_id: String,
}

/// The answer to one call that waits.
pub(super) enum Answer {
    Decision(AgentDecision),
    Output(SuppliedOutput),
}

impl Answer {
    fn question(&self) -> &str {
        match self {
            Self::Decision(decision) => &decision.interruption_id,
            Self::Output(output) => &output.interruption_id,
        }
    }
}

impl Thread {
    /// Returns the thread of this agent, which need not exist yet.
    ///
    /// # Errors
    /// 404 for an unknown agent, 400 for an invalid id, 403.
    pub(super) fn new(shared: &Arc<Shared>, caller: &Caller, agent: &str, thread: &str) -> Result<Self, ApiError> {
        shared.startable(caller, agent)?;
        check_id("thread", thread)?;
        let workflow_id = format!("{}:{thread}", agent.replace('%', "%25").replace(':', "%3A"));
        if !shared.access.may_see(caller, &workflow_id) {
            return Err(ApiError::forbidden("see this thread"));
        }
        Ok(Self { shared: Arc::clone(shared), caller: caller.clone(), agent: agent.to_owned(), workflow_id })
    }

    /// Sends a message, and returns the turn that answers it. The same message id is the same turn.
    ///
    /// # Errors
    /// 400 for an invalid id, 403, 502.
    pub(super) async fn send(&self, message_id: &str, text: &str) -> Result<Turn, ApiError> {
        check_id("message", message_id)?;
        self.shared.check_may_decide(&self.caller, &self.workflow_id)?;
        let chat = ChatRequest::new(&*self.agent);
        let sent = self.shared.runs.send(&self.workflow_id, chat, ChatMessage::new(message_id, text)).await?;
        let reply = reply(sent, ChatHandle::new(&self.shared.client, &*self.workflow_id), message_id.to_owned());
        Ok(Turn::new(&self.shared, &self.workflow_id, Target::Message(message_id.to_owned()), Some(reply)))
    }

    /// Sends the answers to calls that wait, and returns the turn that continues after them.
    /// `request_id` makes a repeated request the same updates.
    ///
    /// # Errors
    /// 400 for an answer that does not fit its call, 404 if no such call waits, 409 if it was
    /// decided in another way, 403, 502.
    pub(super) async fn answer(&self, request_id: &str, answers: Vec<Answer>) -> Result<Turn, ApiError> {
        check_id("run", request_id)?;
        self.shared.check_may_decide(&self.caller, &self.workflow_id)?;
        let handle = AgentHandle::new(&self.shared.client, &*self.workflow_id);
        let handle = self.caller.name.as_ref().map_or_else(|| handle.clone(), |name| handle.by(name));
        let questions: BTreeSet<String> = answers.iter().map(|answer| answer.question().to_owned()).collect();
        for answer in answers {
            let update_id = Some(format!("{request_id}/{}", answer.question()));
            let question = answer.question().to_owned();
            let answer = match answer {
                Answer::Decision(decision) => handle.decide_as(update_id, decision).await?,
                Answer::Output(output) => handle.supply_output_as(update_id, output).await?,
            };
            match answer {
                DecisionAnswer::AlreadyDecided { .. } => {
                    return Err(ApiError::conflict(format!("call {question:?} was decided before, in another way")));
                }
                DecisionAnswer::Refused { reason } => return Err(ApiError::invalid(reason)),
                DecisionAnswer::Unknown { .. } | DecisionAnswer::Kept { .. } => {
                    return Err(ApiError::invalid(format!("no call {question:?} waits in this thread")));
                }
                _ => {}
            }
        }
        Ok(Turn::new(&self.shared, &self.workflow_id, Target::Decided(questions), None))
    }

    /// Returns the calls that wait; none if the thread does not exist.
    ///
    /// # Errors
    /// 502 if no worker answers: without the calls a request cannot be understood.
    pub(super) async fn waiting(&self) -> Result<Vec<AgentInterruption>, ApiError> {
        let handle = AgentHandle::new(&self.shared.client, &*self.workflow_id);
        match timeout(QUERY_TIMEOUT, handle.state()).await {
            Ok(Ok(state)) => Ok(state.interruptions),
            Ok(Err(AgentHandleError::NotFound { .. })) => Ok(Vec::new()),
            Ok(Err(error)) => Err(error.into()),
            Err(_) => Err(ApiError::server("no worker has answered the query for the state of the thread")),
        }
    }

    /// Returns the conversation, and the turn that is open, if one is.
    ///
    /// # Errors
    /// 404 if the thread does not exist.
    pub(super) async fn open(&self) -> Result<(ChatTranscript, Option<Turn>), ApiError> {
        let chat = ChatHandle::new(&self.shared.client, &*self.workflow_id);
        let transcript = chat.transcript().await.map_err(|error| match error {
            AgentHandleError::NotFound { workflow_id } => ApiError::no_run(&workflow_id),
            other => other.into(),
        })?;
        let current = transcript.current.as_ref().and_then(|message| message.id.clone());
        let turn = current.map(|id| Turn::new(&self.shared, &self.workflow_id, Target::Open(id), None));
        Ok((transcript, turn))
    }
}

/// Waits for the reply to a message.
fn reply(
    sent: WorkflowUpdateHandle<Client, Value>,
    chat: ChatHandle,
    message_id: String,
) -> BoxFuture<'static, Option<ChatReply>> {
    async move {
        let reply = sent.get_result(RpcOptions::default()).await.ok();
        let reply = reply.and_then(|reply| decode::<ChatReply>("chat reply", reply).ok());
        match reply {
            Some(reply) if reply.outcome != ChatOutcome::GoesOn => Some(reply),
            _ => chat.reply_to(&message_id).await,
        }
    }
    .boxed()
}

fn check_id(what: &str, id: &str) -> Result<(), ApiError> {
    if id.is_empty() || id.len() > MAX_ID_BYTES || id.starts_with('#') || id.chars().any(char::is_control) {
        let message = format!(
            "the id of the {what} must have 1 to {MAX_ID_BYTES} bytes, no control characters, and must not begin \
             with #"
        );
        return Err(ApiError::invalid(message));
    }
    Ok(())
}
