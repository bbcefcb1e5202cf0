//! A chat as a task: answers messages, one run each, and leaves the process when none waits.

use std::sync::Arc;

use serde_json::{Value, json};
use temporal_agents_core::{
    agent::AgentDef,
    drive::{PausedRun, RunConfig, RunFailure, RunResult, SessionRef},
    engine::{RunError, without_orphan_calls},
    wire::{
        Item,
        ready_made::{ChatMessage, ChatOutcome, ChatReply, ChatRequest},
    },
};

use super::{
    mail::MailAnswer,
    rows::Task,
    runs::{Process, unreadable},
    task::{From, Owned},
    writer::Entry,
};
use crate::{
    store::sql::text::indexed,
    workflow::{AskedTools, Chat, message_input, rereads_thread},
};

/// The parts of a chat that all its messages use.
struct ChatSetup {
    /// The start agent.
    agent: AgentDef,
    /// What its request says about tools.
    tools: AskedTools,
    /// The place of the conversation in a store.
    session: Option<SessionRef>,
}

/// Returns the id of the mail with a message to a chat.
pub(super) fn mail_id(message: &str) -> String {
    format!("message:{message}")
}

/// Answers messages until none waits; `paused` is the run of the current one.
pub(super) async fn talk(process: &Process, owned: &Arc<Owned>, task: &Task, paused: Option<From>) {
    let ended = match start(process, owned, task).await {
        Ok(setup) => Box::pin(answer_messages(process, owned, &setup, paused)).await,
        Err(failure) => Err(failure),
    };
    match ended {
        Err(failure) if !owned.stopped.is_cancelled() || owned.log.is_holding() => owned.fails(&failure.error),
        // The chat is left, or belongs to another process.
        Ok(()) | Err(_) => {}
    }
}

/// Prepares a chat that has begun now, or that was taken over.
async fn start(process: &Process, owned: &Arc<Owned>, task: &Task) -> Result<ChatSetup, Box<RunFailure>> {
    let request: ChatRequest = serde_json::from_str(&task.request).map_err(|error| Box::new(unreadable(&error)))?;
    let agents = &process.settings.agents;
    let name = agents.name_of(request.agent.as_deref(), request.spec.as_ref()).map_err(RunFailure::from)?;
    let agent = process.agent(owned, task, &name, request.spec.as_ref()).await?;
    let ChatRequest { toolsets, user, untrusted, conversation, thread, last_agent_continues, .. } = request;
    let tools = AskedTools { toolsets, user, untrusted, ..AskedTools::default() };
    let session = agents.thread_session(&name, thread.as_deref()).map_err(RunFailure::from)?;
    if task.chat.is_some() {
        return Ok(ChatSetup { agent, tools, session });
    }
    agents.admit_conversation(&name, thread.as_deref(), &conversation).map_err(RunFailure::from)?;
    agents.admit_tools(&name, &tools).map_err(RunFailure::from)?;
    let continues = agents.admit_last_agent(&name, last_agent_continues).map_err(RunFailure::from)?;
    if let Some(mut chat) = owned.chat() {
        (chat.agent, chat.conversation, chat.last_agent_continues) = (Some(name), conversation, continues);
        owned.log.chat(&chat);
    }
    Ok(ChatSetup { agent, tools, session })
}

async fn answer_messages(
    process: &Process,
    owned: &Arc<Owned>,
    ChatSetup { agent: start, tools, session }: &ChatSetup,
    mut paused: Option<From>,
) -> Result<(), Box<RunFailure>> {
    loop {
        let from = match paused.take() {
            Some(from) => from,
            None => match next(process, owned).await? {
                Some(message) => {
                    let conversation = owned.chat().map(|chat| chat.conversation.clone()).unwrap_or_default();
                    From::Input(message_input(conversation, message.text, session.is_some()))
                }
                None => return Ok(()),
            },
        };
        let last = owned.chat().and_then(|chat| chat.last_agent.clone());
        let agent = last.and_then(|name| start.find(&name)).unwrap_or_else(|| start.clone());
        let mut config = RunConfig::clone(&process.settings.agents.config);
        // Without a thread, the chat keeps its conversation itself.
        config.session.clone_from(session);
        config.session_id = Some(owned.id.clone());
        tools.clone().apply(&mut config);
        let ended = process.run_on(owned, agent, config, from).await;
        answer(process, owned, ended, session.is_some())?;
    }
}

/// Returns the next message; `None` once the chat has left this process.
///
/// # Errors
/// The chat was cancelled.
async fn next(process: &Process, owned: &Arc<Owned>) -> Result<Option<ChatMessage>, Box<RunFailure>> {
    loop {
        let news = owned.news.notified();
        if owned.stopped.is_cancelled() {
            return Ok(None);
        }
        if owned.cancelled.is_cancelled() {
            return Err(Box::new(RunError::Cancelled { agent: owned.agent.clone(), turn: 0 }.into()));
        }
        let message = owned.chat().and_then(|mut chat| {
            let message = chat.next()?;
            owned.log.chat(&chat);
            Some(message)
        });
        if message.is_some() {
            return Ok(message);
        }
        if owned.log.leave().await {
            return Ok(None);
        }
        // A mail waits, or a message was accepted meanwhile.
        process.posted.notify_one();
        if owned.chat().is_none_or(|chat| chat.waiting.is_empty()) {
            news.await;
        }
    }
}

/// Records the outcome of a message.
///
/// # Errors
/// The failure of a run that ends the chat.
fn answer(
    process: &Process,
    owned: &Arc<Owned>,
    ended: Result<RunResult<Value>, Box<RunFailure>>,
    has_thread: bool,
) -> Result<(), Box<RunFailure>> {
    let (conversation, outcome, last_agent) = match ended {
        Ok(result) => {
            let conversation = result.to_input_list();
            (Some(conversation), ChatOutcome::Answered { output: result.final_output }, Some(result.last_agent))
        }
        Err(failure) if matches!(failure.error, RunError::Cancelled { .. }) => return Err(failure),
        Err(failure) => {
            let reason = failure.to_string();
            let conversation = match &failure.error {
                error if rereads_thread(error, has_thread) => Some(Vec::new()),
                _ => conversation_after_failure(process, *failure),
            };
            (conversation, ChatOutcome::Failed { reason }, None)
        }
    };
    conclude(owned, conversation, outcome, last_agent);
    Ok(())
}

/// Answers the current message.
pub(super) fn conclude(
    owned: &Owned,
    conversation: Option<Vec<Item>>,
    outcome: ChatOutcome,
    last_agent: Option<String>,
) {
    owned.log.hold();
    let Some(mut chat) = owned.chat() else { return owned.log.release() };
    if let Some(conversation) = conversation {
        chat.conversation = conversation;
    }
    if let Some(agent) = last_agent {
        chat.answered_by(agent);
    }
    let answered = chat.current.as_ref().and_then(|message| message.id.clone());
    chat.answer(outcome);
    let reply = answered.and_then(|id| chat.reply_to(&id));
    owned.log.chat(&chat);
    drop(chat);
    if let Some(reply) = reply {
        let mail = indexed(&mail_id(&reply.message)).into_owned();
        owned.log.push(Entry::Answer { mail, answer: json!(reply) });
    }
    owned.log.release();
}

/// Returns answers to the messages that a chat had accepted and not answered when it ended.
pub(super) fn answers_after_end(ended: &Task) -> Vec<MailAnswer> {
    let chat: Option<Chat> = ended.chat.clone().and_then(|chat| serde_json::from_value(chat).ok());
    let open = chat.into_iter().flat_map(|chat| chat.current.into_iter().chain(chat.waiting));
    let answer = |id: String| {
        let reason = "the chat ended before it had answered the message; send it with another id".to_owned();
        MailAnswer { mail: mail_id(&id), answer: json!(ChatReply::new(id, ChatOutcome::Failed { reason })) }
    };
    open.filter_map(|message| message.id).map(answer).collect()
}

/// Returns the conversation with the work of a failed run, if it has done any.
fn conversation_after_failure(process: &Process, failure: RunFailure) -> Option<Vec<Item>> {
    let is_too_large = matches!(failure.error, RunError::ConversationTooLarge { .. });
    let state = failure.state.filter(|state| !state.items.is_empty() && !is_too_large)?;
    let ids = process.settings.agents.config.reasoning_item_ids;
    Some(without_orphan_calls(PausedRun::new(*state, ids).to_input_list()))
}
