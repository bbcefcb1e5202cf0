//! The two places of runs behind the routes: workflows of Temporal, and tasks of processes.
//!
//! A request to one run has its [`RunMode`], which `runs::find` has found. All routes are the same
//! for both: this file tells them apart, beside the search for a run and its events.

use futures::{FutureExt, future::BoxFuture};
use serde_json::Value;
use temporal_agents_core::wire::{
    AgentState, ChatMessage, ChatOutcome, ChatReply, ChatRequest, ChatTranscript, DecisionAnswer, RunMode, decode,
};
use temporalio_client::{Client, RpcOptions, WorkflowCancelOptions, WorkflowIdReusePolicy, WorkflowUpdateHandle};

use super::{
    access::Caller,
    answers::{Answer, in_time},
    error::ApiError,
    runs::{Found, find},
    service::Shared,
};
use crate::client::{
    AgentHandle, AgentHandleError, ChatHandle, NewRun, NotStarted, ProcessRuns, RunEventStream, RunType, WorkflowRuns,
};

/// The reply to a message of a chat; `None` if the chat does not know the message.
pub(super) type Reply = BoxFuture<'static, Option<ChatReply>>;

/// A message that a chat has accepted.
pub(super) struct AcceptedMessage {
    /// The reply; `None` if the chat received the message before it ended, so that its history has the
    /// answer.
    pub(super) reply: Option<Reply>,
    /// The execution that has accepted the message, of a workflow.
    pub(super) execution: Option<String>,
}

/// The outcome of a message to a chat that has ended.
enum EndedChat {
    /// The conversation has ended with the workflow: the message is refused.
    Refuses,
    /// The chat received the message before it ended; its history has the answer.
    ReceivedBefore,
    /// The chat starts again with this request.
    Restarts(Box<NewRun>),
    /// Another request has started it again.
    IsOpen,
}

impl Shared {
    /// Returns the runs that are workflows.
    ///
    /// # Errors
    /// 501 if the service has no Temporal client.
    pub(super) fn workflows(&self) -> Result<&WorkflowRuns, ApiError> {
        self.runs.workflows().ok_or_else(|| ApiError::no_mode("this service has no Temporal client"))
    }

    /// Returns the runs that are tasks of processes.
    ///
    /// # Errors
    /// 501 if the service has none.
    pub(super) fn tasks(&self) -> Result<&dyn ProcessRuns, ApiError> {
        self.runs.process().map(|tasks| &**tasks).ok_or_else(|| ApiError::no_mode("this service has no store of runs"))
    }

    /// Returns the events of a run after the one with this cursor.
    ///
    /// # Errors
    /// 501 if the mode is not available.
    pub(super) fn watch(
        &self,
        mode: RunMode,
        id: &str,
        from: Option<String>,
        deltas: bool,
    ) -> Result<RunEventStream, ApiError> {
        if mode == RunMode::InProcess {
            return Ok(self.tasks()?.events(id.to_owned(), from, deltas));
        }
        self.workflows()?;
        let events = self.events.as_ref().ok_or_else(|| ApiError::no_mode("this service has no Temporal client"))?;
        Ok(match (from, deltas) {
            (Some(from), true) => events.watch_live_from(id, from),
            (Some(from), false) => events.watch_from(id, from),
            (None, true) => events.watch_live(id),
            (None, false) => events.watch(id),
        })
    }

    /// Returns the state of a run; `None` if there is no such run.
    ///
    /// # Errors
    /// 504 if no worker answers, 503 if the server refuses the query.
    pub(super) async fn state(&self, mode: RunMode, id: &str) -> Result<Option<AgentState>, ApiError> {
        if mode == RunMode::InProcess {
            return Ok(self.tasks()?.state(id).await?);
        }
        let handle = AgentHandle::new(&self.workflows()?.client, id);
        match in_time(handle.state()).await {
            Some(Ok(state)) => Ok(Some(state)),
            Some(Err(AgentHandleError::NotFound { .. })) => Ok(None),
            Some(Err(error)) => Err(self.refusal(id, error).await),
            None => Err(self.unanswered(mode, id).await),
        }
    }

    /// Sends an answer to a call, as the update with this id.
    ///
    /// # Errors
    /// As [`state`](Self::state), and 409 if the run has ended.
    pub(super) async fn answer(
        &self,
        (mode, id): (RunMode, &str),
        caller: &Caller,
        update_id: String,
        answer: Answer,
    ) -> Result<DecisionAnswer, ApiError> {
        if mode == RunMode::InProcess {
            let mut decision = match answer {
                Answer::Decision(decision) => decision,
                Answer::Output(output) => output.into(),
            };
            if let (None, Some(name)) = (&decision.by, &caller.name) {
                decision = decision.by(name);
            }
            return Ok(self.tasks()?.decide(id, update_id, decision).await?);
        }
        let handle = AgentHandle::new(&self.workflows()?.client, id);
        let handle = caller.name.as_ref().map_or_else(|| handle.clone(), |name| handle.by(name));
        let answered = match answer {
            Answer::Decision(decision) => in_time(handle.decide_as(Some(update_id), decision)).await,
            Answer::Output(output) => in_time(handle.supply_output_as(Some(update_id), output)).await,
        };
        match answered {
            Some(Ok(answer)) => Ok(answer),
            Some(Err(error)) => Err(self.refusal(id, error).await),
            None => Err(self.unanswered(mode, id).await),
        }
    }

    /// Requests the cancellation of a run.
    ///
    /// # Errors
    /// 409 if it has ended, 503 if the server refuses the request.
    pub(super) async fn cancel(&self, mode: RunMode, id: &str) -> Result<(), ApiError> {
        if mode == RunMode::InProcess {
            return Ok(self.tasks()?.cancel(id).await?);
        }
        let workflow = self.workflows()?.client.get_workflow_handle::<RunType>(id);
        workflow.cancel(WorkflowCancelOptions::default()).await.map_err(ApiError::server)
    }

    /// Sends a message to a chat, which is started if it does not exist, and begins again if it has
    /// ended and its conversation is in a store. Returns once the chat has accepted the message.
    ///
    /// # Errors
    /// 409 if the chat has ended, 504 if no worker accepts the message.
    pub(super) async fn send(
        &self,
        mode: RunMode,
        id: &str,
        chat: ChatRequest,
        message: ChatMessage,
    ) -> Result<AcceptedMessage, ApiError> {
        let message_id = message.id.clone().unwrap_or_default();
        if mode == RunMode::InProcess {
            let first = self.tasks()?.send(id, chat, message).await?;
            let reply = match first.outcome {
                ChatOutcome::GoesOn => self.reply_to(mode, id, &message_id)?,
                _ => std::future::ready(Some(first)).boxed(),
            };
            return Ok(AcceptedMessage { reply: Some(reply), execution: None });
        }
        let Some(sent) = self.send_update(id, chat, message).await? else {
            return Ok(AcceptedMessage { reply: None, execution: None });
        };
        let execution = sent.workflow_run_id().map(str::to_owned);
        let chat = ChatHandle::new(&self.workflows()?.client, id);
        Ok(AcceptedMessage { reply: Some(reply(sent, chat, message_id)), execution })
    }

    /// Sends a message to a chat that is a workflow. Returns `None` if the chat had received the message before
    /// it ended.
    async fn send_update(
        &self,
        id: &str,
        chat: ChatRequest,
        message: ChatMessage,
    ) -> Result<Option<WorkflowUpdateHandle<Client, Value>>, ApiError> {
        // A message that is sent again must not start a chat again that has ended.
        let refused = WorkflowIdReusePolicy::RejectDuplicate;
        let run = NewRun::chat(chat);
        let sent = in_time(self.workflows()?.send(id, run.clone(), message.clone(), refused)).await;
        let sent = match sent {
            Some(Err(error)) if error.reason == NotStarted::Ended => {
                let message_id = message.id.as_deref().unwrap_or_default();
                match Box::pin(self.outcome_after_end(id, message_id)).await? {
                    EndedChat::Refuses => return Err(error.into()),
                    EndedChat::ReceivedBefore => return Ok(None),
                    EndedChat::IsOpen => in_time(self.workflows()?.send(id, run, message, refused)).await,
                    EndedChat::Restarts(restart) => {
                        let allowed = WorkflowIdReusePolicy::AllowDuplicate;
                        in_time(self.workflows()?.send(id, *restart, message, allowed)).await
                    }
                }
            }
            other => other,
        };
        match sent {
            Some(Ok(sent)) => Ok(Some(sent)),
            Some(Err(error)) => Err(self.refused_message(id, error).await),
            None => Err(self.unanswered(RunMode::Temporal, id).await),
        }
    }

    /// Decides, from the history of a chat that has ended, what a message to it does. Needs no worker.
    ///
    /// # Errors
    /// 503 if the history cannot be read, or not in time.
    async fn outcome_after_end(&self, id: &str, message: &str) -> Result<EndedChat, ApiError> {
        let Some(events) = &self.events else { return Ok(EndedChat::Refuses) };
        let Found::Run(row) = find(self, id).await? else { return Ok(EndedChat::Refuses) };
        if row.is_open() {
            return Ok(EndedChat::IsOpen);
        }
        let input = events.start_input(id, &row.execution).await?;
        let request: Option<ChatRequest> = serde_json::from_value(input).ok();
        let Some(restart) = request.and_then(ChatRequest::into_restart) else { return Ok(EndedChat::Refuses) };
        let Some(has_received) = in_time(events.has_received(id, &row.execution, message)).await else {
            return Err(ApiError::server("the history of the chat could not be read in time"));
        };
        if has_received? {
            return Ok(EndedChat::ReceivedBefore);
        }
        let labels = row.labels.into_iter();
        let run = labels.fold(NewRun::chat(restart), |run, (name, value)| run.label(name, value));
        Ok(EndedChat::Restarts(Box::new(run)))
    }

    /// Sends a message to a chat as [`send`](Self::send) does. Nobody waits for the reply here.
    ///
    /// # Errors
    /// As `send`, and 409 if the chat refuses the message.
    pub(super) async fn send_message(
        &self,
        mode: RunMode,
        id: &str,
        chat: ChatRequest,
        message: ChatMessage,
    ) -> Result<(), ApiError> {
        let reply = if mode == RunMode::InProcess {
            Some(self.tasks()?.send(id, chat, message).await?)
        } else {
            match self.send_update(id, chat, message).await? {
                Some(sent) => self.workflows()?.reply_by_now(&sent).await,
                None => None,
            }
        };
        match reply.map(|reply| reply.outcome) {
            Some(ChatOutcome::Refused { reason }) => Err(ApiError::refused(reason)),
            _ => Ok(()),
        }
    }

    /// Returns the conversation of a chat.
    ///
    /// # Errors
    /// 404 if there is no such chat, 504 if no worker answers.
    pub(super) async fn transcript(&self, mode: RunMode, id: &str) -> Result<ChatTranscript, ApiError> {
        if mode == RunMode::InProcess {
            return Ok(self.tasks()?.transcript(id).await?);
        }
        let chat = ChatHandle::new(&self.workflows()?.client, id);
        match in_time(chat.transcript()).await {
            Some(Ok(transcript)) => Ok(transcript),
            Some(Err(AgentHandleError::NotFound { workflow_id })) => Err(ApiError::no_run(&workflow_id)),
            Some(Err(error)) => Err(self.refusal(id, error).await),
            None => Err(self.unanswered(mode, id).await),
        }
    }

    /// Waits for the reply to a message that a chat has accepted.
    ///
    /// # Errors
    /// 501 if the mode is not available.
    pub(super) fn reply_to(&self, mode: RunMode, id: &str, message_id: &str) -> Result<Reply, ApiError> {
        if mode == RunMode::InProcess {
            return Ok(self.tasks()?.reply_to(id.to_owned(), message_id.to_owned()));
        }
        let chat = ChatHandle::new(&self.workflows()?.client, id);
        let answered = message_id.to_owned();
        Ok(async move { chat.reply_to(&answered).await }.boxed())
    }
}

/// Waits for the reply to a message that was sent as an update.
fn reply(sent: WorkflowUpdateHandle<Client, Value>, chat: ChatHandle, message_id: String) -> Reply {
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
