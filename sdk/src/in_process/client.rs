//! Requests to tasks, from any process that shares their store.

use std::{sync::Arc, time::Duration};

use futures::{FutureExt, future::BoxFuture};
use serde::de::DeserializeOwned;
use serde_json::Value;
use temporal_agents_core::wire::{
    AgentDecision, AgentState, ChatMessage, ChatReply, ChatRequest, ChatTranscript, DecisionAnswer, SpecRef,
    ready_made::ChatOutcome,
};
use tokio::time::{Instant, timeout};

use super::{
    InProcessRuns, chat,
    mail::{self, Mail, Posted},
    reader,
    rows::{self, Task, json_of, key_of},
    runs::{Process, Start},
};
use crate::{
    client::{
        AgentRuns, Asked, IdConflict, NewRun, NotStarted, ProcessRow, ProcessRunError, ProcessRuns, Request,
        RunEventStream, StartRunError, TaskList, title_of,
    },
    store::{SqlStore, SqlStoreError},
    workflow::Chat,
};

/// Time in which the owner of a task must answer a mail.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);
/// The interval between two looks for the answer of another process.
const ANSWER_INTERVAL: Duration = Duration::from_millis(50);

impl AgentRuns {
    /// Creates a starter of runs that are tasks of this process, without Temporal.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn in_process(runs: &InProcessRuns) -> Self {
        Self::of_process(Arc::new(Client(Arc::clone(runs.process()))))
    }

    /// Adds the tasks of this process, for runs that choose the mode
    /// [`InProcess`](temporal_agents_core::wire::RunMode::InProcess).
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    #[must_use]
    pub fn with_in_process(self, runs: &InProcessRuns) -> Self {
        self.with_process(Arc::new(Client(Arc::clone(runs.process()))))
    }
}

/// The tasks of this process, and those of others in the store.
struct Client(Arc<Process>);

impl From<SqlStoreError> for ProcessRunError {
    fn from(error: SqlStoreError) -> Self {
        Self::Store(Box::new(error))
    }
}

impl ProcessRuns for Client {
    fn start(&self, id: String, run: NewRun) -> BoxFuture<'_, Result<String, StartRunError>> {
        async move {
            run.check_in_process().map_err(|problem| StartRunError::new(&id, NotStarted::Invalid, problem))?;
            let uses_existing = run.id_conflict == IdConflict::UseExisting;
            let title = run.title();
            let (request, labels) = run.into_parts();
            let (is_chat, (agent, thread), request) = match request {
                Request::Run(request) => {
                    let agent = agent_name(request.agent.as_ref(), request.spec.as_ref());
                    (false, (agent, request.thread.clone()), json_of(&request))
                }
                Request::Chat(mut request) => {
                    if request.thread.is_none() && self.0.settings.agents.keeps_chats() {
                        request.thread = Some(id.clone());
                    }
                    let agent = agent_name(request.agent.as_ref(), request.spec.as_ref());
                    (true, (agent, request.thread.clone()), json_of(&request))
                }
            };
            let mut task = Task::new(&id, is_chat, request, &self.0.settings.process);
            (task.run.agent, task.run.thread, task.run.labels) = (agent, thread, labels);
            task.run.title = title;
            let failed = |error: SqlStoreError| StartRunError::new(&id, NotStarted::Database, error);
            if self.0.is_stopping() {
                return Err(StartRunError::new(&id, NotStarted::Overloaded, "this process is stopping"));
            }
            let existing = match SqlStore::finish(Arc::clone(&self.0).start(task)).await.map_err(failed)? {
                Start::Started => return Ok(id),
                Start::Refused => {
                    let problem = "this process has as many runs as it may have; start the run again in a few seconds";
                    return Err(StartRunError::new(&id, NotStarted::Overloaded, problem));
                }
                Start::Vanished => {
                    let problem = "the run with this id was deleted just now; start it again";
                    return Err(StartRunError::new(&id, NotStarted::Overloaded, problem));
                }
                Start::Exists(existing) => existing,
            };
            if existing.is_chat() != is_chat {
                let problem = "the id is that of another kind of run; choose another one";
                return Err(StartRunError::new(&id, NotStarted::Foreign, problem));
            }
            if uses_existing {
                return Ok(id);
            }
            Err(StartRunError::new(&id, NotStarted::Exists, "a run with this id exists"))
        }
        .boxed()
    }

    fn find<'a>(&'a self, id: &'a str) -> Asked<'a, Option<ProcessRow>> {
        async move { Ok(self.task(id).await?.map(Task::shown)) }.boxed()
    }

    fn list<'a>(&'a self, wanted: TaskList<'a>) -> Asked<'a, Vec<ProcessRow>> {
        async move { Ok(rows::list(&self.0.settings.store, &wanted).await?) }.boxed()
    }

    fn events(&self, id: String, after: Option<String>, deltas: bool) -> RunEventStream {
        reader::events(&self.0, id, after, deltas)
    }

    fn state<'a>(&'a self, id: &'a str) -> Asked<'a, Option<AgentState>> {
        async move {
            if let Some(owned) = self.0.owned(&key_of(id)) {
                return Ok(Some(owned.inbox.state()));
            }
            Ok(self.task(id).await?.map(Task::agent_state))
        }
        .boxed()
    }

    fn decide<'a>(&'a self, id: &'a str, mail: String, decision: AgentDecision) -> Asked<'a, DecisionAnswer> {
        self.ask(id, mail, Mail::Decision { decision }).boxed()
    }

    fn send<'a>(&'a self, id: &'a str, chat: ChatRequest, message: ChatMessage) -> Asked<'a, ChatReply> {
        async move {
            let Some(message_id) = message.id.clone() else {
                return Err(ProcessRunError::Invalid("a message needs an id".to_owned()));
            };
            let mail = chat::mail_id(&message_id);
            match self.task(id).await? {
                None => {
                    let started = self.start(id.to_owned(), NewRun::chat(chat).first_message(&message.text)).await;
                    started.map_err(ProcessRunError::NotStarted)?;
                }
                Some(ended) if ended.run.ended_at.is_some() => self.restart_chat(ended, &mail, &message).await?,
                // A chat that was started without a message.
                Some(task) if task.run.title.is_none() => {
                    if let Some(title) = title_of(&message.text) {
                        rows::set_title(&self.0.settings.store, &task, &title).await?;
                    }
                }
                Some(_) => {}
            }
            self.ask(id, mail, Mail::Message { message }).await
        }
        .boxed()
    }

    fn reply_to(&self, id: String, message: String) -> BoxFuture<'static, Option<ChatReply>> {
        let process = Arc::clone(&self.0);
        async move {
            let (key, mail) = (key_of(&id), chat::mail_id(&message));
            loop {
                let answered = process.settings.answered.notified();
                if let Ok(answer) = mail::answer(&process.settings.store, &key, &mail).await {
                    let reply: Option<ChatReply> = answer?.and_then(|reply| serde_json::from_value(reply).ok());
                    if let Some(reply) = reply.filter(|reply| reply.outcome != ChatOutcome::GoesOn) {
                        return Some(reply);
                    }
                }
                let _ = timeout(ANSWER_INTERVAL * 4, answered).await;
            }
        }
        .boxed()
    }

    fn transcript<'a>(&'a self, id: &'a str) -> Asked<'a, ChatTranscript> {
        async move {
            let task = self.task(id).await?.ok_or_else(|| ProcessRunError::NotFound(id.to_owned()))?;
            let chat: Option<Chat> = task.chat.and_then(|chat| serde_json::from_value(chat).ok());
            Ok(chat.unwrap_or_default().transcript())
        }
        .boxed()
    }

    fn cancel<'a>(&'a self, id: &'a str) -> Asked<'a, ()> {
        async move { self.ask(id, mail::CANCEL.to_owned(), Mail::Cancel).await.map(|_: Value| ()) }.boxed()
    }
}

impl Client {
    async fn task(&self, id: &str) -> Result<Option<Task>, SqlStoreError> {
        rows::find(&self.0.settings.store, &key_of(id)).await
    }

    /// Starts a chat again that has ended, if its conversation is in a store and it has not received this
    /// message before.
    async fn restart_chat(&self, ended: Task, mail: &str, message: &ChatMessage) -> Result<(), ProcessRunError> {
        let Some(request) = restart_request(&ended) else { return Ok(()) };
        let store = &self.0.settings.store;
        let reply = mail::answer(store, &ended.key, mail).await?.flatten();
        let reply: Option<ChatReply> = reply.and_then(|reply| serde_json::from_value(reply).ok());
        let is_refused = |reply: &ChatReply| matches!(reply.outcome, ChatOutcome::Refused { .. });
        if reply.as_ref().is_some_and(|reply| !is_refused(reply)) || self.0.is_stopping() {
            return Ok(());
        }
        // A message that the ended chat has refused is a new one for the next chat.
        if reply.is_some() {
            mail::delete(store, &ended.key, mail).await?;
        }
        let mut task = Task::new(&ended.run.id, true, json_of(&request), &self.0.settings.process);
        task.run.agent.clone_from(&ended.run.agent);
        task.run.labels.clone_from(&ended.run.labels);
        task.run.thread = request.thread;
        task.run.title = title_of(&message.text);
        SqlStore::finish(Arc::clone(&self.0).restart_chat(ended, task)).await?;
        Ok(())
    }

    /// Sends a mail, and waits for its answer.
    async fn ask<T: DeserializeOwned>(&self, id: &str, mail: String, body: Mail) -> Result<T, ProcessRunError> {
        let (store, key) = (&self.0.settings.store, key_of(id));
        // It may own the task after this, and no longer runs any.
        if self.0.is_stopping() {
            return Err(ProcessRunError::Unanswered(id.to_owned()));
        }
        match SqlStore::finish(post(Arc::clone(&self.0), key.clone(), mail.clone(), body)).await? {
            Posted::Nowhere => return Err(ProcessRunError::NotFound(id.to_owned())),
            Posted::ToOwner | Posted::Claimed => {}
            Posted::Ended => return self.answer_of_ended(id, &mail).await,
        }
        let deadline = Instant::now() + ANSWER_TIMEOUT;
        while Instant::now() < deadline {
            let answered = self.0.settings.answered.notified();
            self.0.posted.notify_one();
            if let Some(Some(answer)) = mail::answer(store, &key, &mail).await? {
                return read(id, answer);
            }
            // An end may come with the answer, and leaves other mail without one.
            if rows::has_ended(store, &key, i64::MAX).await? {
                return self.answer_of_ended(id, &mail).await;
            }
            let _ = timeout(ANSWER_INTERVAL, answered).await;
        }
        Err(ProcessRunError::Unanswered(id.to_owned()))
    }

    /// Returns the answer to a mail of a task that has ended.
    async fn answer_of_ended<T: DeserializeOwned>(&self, id: &str, mail: &str) -> Result<T, ProcessRunError> {
        let answer = mail::answer(&self.0.settings.store, &key_of(id), mail).await?.flatten();
        answer.map_or_else(|| Err(ProcessRunError::Ended(id.to_owned())), |answer| read(id, answer))
    }
}

/// Sends a mail, and runs its task here if no process does.
async fn post(process: Arc<Process>, key: String, mail: String, body: Mail) -> Result<Posted, SqlStoreError> {
    let store = &process.settings.store;
    let _locked = process.lock_task(&key).await;
    let posted = mail::post(store, &key, &mail, &body, &process.settings.process).await?;
    let is_left = match posted {
        Posted::Claimed => true,
        // An earlier mail may have claimed the task without an answer from the store.
        Posted::ToOwner => process.owned(&key).is_none(),
        Posted::Nowhere | Posted::Ended => false,
    };
    if is_left
        && let Some(task) = rows::find(store, &key).await?
        && task.owner == process.settings.process
        && task.is_between_effects()
    {
        process.take_up(task).await?;
    }
    Ok(posted)
}

/// Returns the request that starts a chat again that has ended; `None` if its conversation is not in a
/// store.
fn restart_request(ended: &Task) -> Option<ChatRequest> {
    let request: ChatRequest = serde_json::from_str(&ended.request).ok().filter(|_| ended.is_chat())?;
    request.into_restart()
}

/// Returns the name of the agent of a request.
fn agent_name(agent: Option<&String>, spec: Option<&SpecRef>) -> Option<String> {
    agent.cloned().or_else(|| spec.map(|spec| spec.name.clone()))
}

fn read<T: DeserializeOwned>(id: &str, answer: Value) -> Result<T, ProcessRunError> {
    let unread = |error| ProcessRunError::Invalid(format!("the answer of run {id:?} cannot be read: {error}"));
    serde_json::from_value(answer).map_err(unread)
}
