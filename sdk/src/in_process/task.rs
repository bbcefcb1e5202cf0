//! A run or a chat that this process owns: its parts, its mail, and one run on them.

use std::{
    cell::{Cell, RefCell},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering},
    },
    time::SystemTime,
};

use serde_json::{Value, json};
use temporal_agents_core::{
    agent::AgentDef,
    drive::{Outputs, Run, RunConfig, RunFailure, RunInput, RunResult, finished, run_agents},
    engine::RunError,
    wire::{
        AgentDecision, EventKind, RecordedFailure, RunEvent, RunStatus,
        failure::AGENTS_WORKFLOW_ERROR,
        ready_made::{ChatMessage, ChatOutcome, ChatReply},
    },
};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{
    admission::{Admitted, Place},
    host::{PausedTask, TaskHost},
    hub::Hub,
    inbox::{RunContext, TaskInbox},
    mail::{self, Mail, Received},
    rows::Task,
    runs::{Process, Settings},
    writer::{Entry, RunLog, Writing, end_now, short_id},
};
use crate::{
    events::{EventPublisher, Facts, RunObserver, rfc3339},
    inline::run_threads::run_on_run_thread,
    store::{SqlStore, SqlStoreError, sql::runs::RunEnd},
    workflow::{Chat, RunInbox, Waits},
};

/// A task that this process owns.
pub(super) struct Owned {
    pub(super) key: String,
    pub(super) id: String,
    pub(super) execution: String,
    pub(super) agent: String,
    pub(super) inbox: Arc<TaskInbox>,
    pub(super) chat: Option<Arc<Mutex<Chat>>>,
    /// Cancels the task in the name of a person.
    pub(super) cancelled: CancellationToken,
    /// Stops the task in this process, because it has another owner or the process ends.
    pub(super) stopped: CancellationToken,
    pub(super) log: RunLog,
    pub(super) hub: Arc<Hub>,
    /// Number of the latest mail that was read.
    mail: Arc<AtomicI64>,
    /// `true` while the run waits.
    is_paused: Arc<AtomicBool>,
    /// The facts of the current run; `None` before the first one that this process makes.
    publisher: Mutex<Option<Arc<EventPublisher>>>,
    /// `true` if a run begins at once. A chat without one waits for a message first.
    begins: bool,
    /// Wakes a chat that waits for messages.
    pub(super) news: Notify,
    /// `true` once the row says that an effect may have been made; of a chat always.
    has_begun: AtomicBool,
    /// What the start of the run has reserved, until the run has its place.
    admitted: Mutex<Option<Admitted>>,
}

impl Owned {
    /// Starts the writer of a task. `known` are the ids of facts that its run may repeat.
    pub(super) fn new(settings: &Settings, task: &Task, inbox: Option<Value>, known: Vec<String>) -> Arc<Self> {
        let stopped = CancellationToken::new();
        let inbox = Arc::new(TaskInbox::new(inbox));
        let chat: Option<Chat> = task.is_chat().then(|| {
            let chat = task.chat.clone().and_then(|chat| serde_json::from_value(chat).ok());
            chat.unwrap_or_else(|| Chat::from_request_json(&task.request))
        });
        let chat = chat.map(|chat| Arc::new(Mutex::new(chat)));
        let hub = Arc::new(Hub::new(task.run.sequence));
        let log = RunLog::start(Writing {
            store: settings.store.clone(),
            key: task.key.clone(),
            owner: settings.process.clone(),
            hub: Arc::clone(&hub),
            deltas: settings.deltas.as_ref().map(|broker| broker.publisher(&task.run.key)),
            inbox: Arc::clone(&inbox),
            chat: chat.clone(),
            row: task.run.clone(),
            known,
            lease: settings.lease,
            answered: Arc::clone(&settings.answered),
            lost: stopped.clone(),
        });
        Arc::new(Self {
            key: task.key.clone(),
            id: task.run.id.clone(),
            execution: task.run.key.clone(),
            agent: task.run.agent.clone().unwrap_or_default(),
            inbox,
            chat,
            cancelled: stopped.child_token(),
            stopped,
            log,
            hub,
            mail: Arc::default(),
            is_paused: Arc::default(),
            publisher: Mutex::default(),
            begins: !task.is_chat() || task.paused.is_some(),
            news: Notify::new(),
            has_begun: AtomicBool::new(task.has_begun || task.is_chat()),
            admitted: Mutex::default(),
        })
    }

    /// Reads a mail, and answers it. Returns `false` if it is put off, with all mail after it: a
    /// mail without an answer is read again.
    pub(super) fn receive(&self, received: Received) -> bool {
        let Received { task: _, key, number, mail } = received;
        // Its answer may not be written yet.
        if number <= self.mail.load(Ordering::Relaxed) {
            return true;
        }
        let publisher = self.publisher();
        // Without the facts of the run, a decision would count and have no fact.
        if self.begins && publisher.is_none() && matches!(mail, Mail::Decision { .. }) {
            return false;
        }
        // The answer comes before all that the task does with the mail: after its end, nothing more
        // is written.
        match mail {
            Mail::Decision { decision } => self.decide(publisher, decision, Some((number, key))),
            Mail::Message { message } => self.accept(message, key),
            Mail::Cancel => {
                self.log.push(Entry::Answer { mail: key, answer: json!(true) });
                self.cancelled.cancel();
            }
        }
        self.mail.fetch_max(number, Ordering::Relaxed);
        self.news.notify_one();
        true
    }

    /// Takes a decision, of a mail with this number and key or of one that has its answer.
    fn decide(&self, publisher: Option<Arc<EventPublisher>>, decision: AgentDecision, mail: Option<(i64, String)>) {
        let fact = decision.clone();
        self.inbox.decide(decision, |answer| {
            if let (Some(publisher), true) = (publisher, answer.counts()) {
                publisher.observe(|facts| facts.decided(fact));
            }
            self.log.push(Entry::Inbox);
            if let Some((number, mail)) = mail {
                self.mail.fetch_max(number, Ordering::Relaxed);
                self.log.push(Entry::Answer { mail, answer: json!(answer) });
            }
        });
    }

    /// Takes a message of the mail with this key.
    fn accept(&self, message: ChatMessage, mail: String) {
        let text = message.text.clone();
        // The chat is locked to the end: its answer to the message replaces this one.
        let mut chat = self.chat();
        let reply = match chat.as_deref_mut() {
            None => ChatReply::new("", ChatOutcome::Refused { reason: format!("run {:?} is not a chat", self.id) }),
            Some(chat) => {
                let before = chat.messages();
                match chat.accept(message) {
                    Err(refused) => refused,
                    Ok(id) => {
                        if chat.messages() > before {
                            self.accepted(chat, &id, text);
                        }
                        chat.progress(&id).unwrap_or_else(|| ChatReply::new(id, ChatOutcome::GoesOn))
                    }
                }
            }
        };
        self.log.push(Entry::Answer { mail, answer: json!(reply) });
    }

    /// Records that the chat has accepted a message.
    fn accepted(&self, chat: &Chat, id: &str, text: String) {
        let kind = EventKind::ChatMessageDelta { chat_message_id: id.to_owned(), text, is_refused: false };
        let time = rfc3339(SystemTime::now());
        self.log.event(&RunEvent { id: format!("message/{id}"), time, ..RunEvent::new(kind) });
        self.log.chat(chat);
    }

    /// Returns `true` if the task only waits for people.
    pub(super) fn waits(&self) -> bool {
        self.is_paused.load(Ordering::Relaxed)
    }

    /// Returns the data of the chat; `None` if the task is not a chat.
    pub(super) fn chat(&self) -> Option<MutexGuard<'_, Chat>> {
        self.chat.as_ref().map(|chat| chat.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn publisher(&self) -> Option<Arc<EventPublisher>> {
        self.publisher.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Begins to read mail for a run, after the decisions that the process before has answered.
    fn begin(&self, publisher: &Arc<EventPublisher>, decisions: Vec<AgentDecision>) {
        let mut shared = self.publisher.lock().unwrap_or_else(PoisonError::into_inner);
        for decision in decisions {
            self.decide(Some(Arc::clone(publisher)), decision, None);
        }
        *shared = Some(Arc::clone(publisher));
    }

    /// Returns a publisher of a run's events to the log, which continues from these facts.
    fn publisher_of(&self, run: &str, facts: Facts, observer: Option<RunObserver>) -> Arc<EventPublisher> {
        let (facts_log, deltas_log) = (self.log.clone(), self.log.clone());
        // A fact is in the log before what follows from it, also if another thread sends a delta.
        let keeper = Box::new(move |fact: &mut RunEvent| facts_log.event(fact));
        let sink = Arc::new(move |event: &RunEvent| {
            if event.is_delta() {
                deltas_log.event(event);
            }
        });
        Arc::new(EventPublisher::keeping(run, facts, keeper, Some(sink)).with_observer(observer))
    }

    /// Keeps what the start of the run has reserved, until it has its place. A chat has no run yet.
    pub(super) fn waits_for_place(&self, admitted: Option<Admitted>) {
        if self.chat.is_none() {
            *self.admitted.lock().unwrap_or_else(PoisonError::into_inner) = admitted;
        }
    }

    /// Waits for the place of a run that begins, and notes in the row that it begins. A run that
    /// waits for people takes its place when it goes on.
    ///
    /// # Errors
    /// The task was cancelled meanwhile, or belongs to another process.
    pub(super) async fn place_for(&self, process: &Process, from: &From) -> Result<Option<Place>, RunFailure> {
        if matches!(from, From::Paused(..)) {
            return Ok(None);
        }
        let place = process.settings.admission.place();
        let place = self.cancelled.run_until_cancelled(place).await;
        self.waits_for_place(None);
        let place = place.ok_or_else(|| self.lost())?;
        if !self.has_begun() {
            // Another process begins it.
            if process.is_stopping() {
                self.stopped.cancel();
                return Err(self.lost());
            }
            self.log.push(Entry::Begun);
            if !self.log.flush().await {
                return Err(self.lost());
            }
            self.has_begun.store(true, Ordering::Relaxed);
        }
        Ok(Some(place))
    }

    /// Returns `false` for a run of which no effect has been made.
    pub(super) fn has_begun(&self) -> bool {
        self.has_begun.load(Ordering::Relaxed)
    }

    /// Returns the failure of a run that this process must not make.
    fn lost(&self) -> RunFailure {
        RunError::Cancelled { agent: self.agent.clone(), turn: 0 }.into()
    }

    /// Runs an agent on this task, from a beginning or from a pause.
    pub(super) async fn run(
        self: &Arc<Self>,
        settings: &Settings,
        (agent, config): (AgentDef, RunConfig),
        from: From,
        place: Option<Place>,
    ) -> Result<RunResult<Value>, RunFailure> {
        let (owned, settings) = (Arc::clone(self), settings.clone());
        let ended =
            run_on_run_thread(move |_| async move { owned.run_here(settings, (&agent, &config), from, place).await });
        ended.await.unwrap_or_else(|| Err(self.lost()))
    }

    async fn run_here(
        &self,
        Settings { runner, admission, .. }: Settings,
        (agent, config): (&AgentDef, &RunConfig),
        from: From,
        place: Option<Place>,
    ) -> Result<RunResult<Value>, RunFailure> {
        let cancelled = self.cancelled.child_token();
        let Parts { run, facts, session_writes, decisions, from } = from.parts(&self.execution);
        let publisher = self.publisher_of(&run, facts, runner.observer_with(config, &from, None));
        let paused = match &from {
            Run::Continue(state) => Some(&**state),
            _ => None,
        };
        self.begin(&publisher, decisions);
        let (mut inner, _) = runner.host(run, cancelled.clone(), None);
        inner.publisher = Some(Arc::clone(&publisher));
        inner.session_writes = AtomicU32::new(session_writes);
        let host = TaskHost {
            inner,
            inbox: RunInbox::begin(RunContext::of(&self.inbox, &cancelled), Waits::UntilDecided, paused),
            shared: Arc::clone(&self.inbox),
            publisher,
            stopped: self.stopped.clone(),
            is_paused: Arc::clone(&self.is_paused),
            log: self.log.clone(),
            mail: Arc::clone(&self.mail),
            takes_over: Cell::new(paused.is_some()),
            admission,
            place: RefCell::new(place),
            pause: RefCell::default(),
        };
        let ended = run_agents(&host, agent, config, from, Outputs::OfAnyType).await;
        // A run that is stopped here may wait, and goes on waiting elsewhere.
        if !self.stopped.is_cancelled() {
            host.inbox.ended::<Value>(&ended);
            self.log.push(Entry::Inbox);
        }
        ended.and_then(finished)
    }

    /// Records the facts of an end that no run tells, and with them the end of the task.
    pub(super) fn closes(&self, end: &EventKind, row: RunEnd) {
        let is_from_outside = !matches!(end, EventKind::RunFinished { .. });
        let publisher = self
            .publisher()
            .unwrap_or_else(|| self.publisher_of("", Facts::of_execution(short_id(&self.execution).to_owned()), None));
        self.log.hold();
        publisher.observe(|facts| facts.closed(end, is_from_outside));
        self.log.push(Entry::Inbox);
        self.log.push(Entry::End(Box::new(row)));
    }

    /// Ends the task with the error of its run, as the workflow of a run ends with it.
    pub(super) fn fails(&self, error: &RunError) {
        if let RunError::Cancelled { .. } = error {
            self.closes(&EventKind::RunCancelled { usage: None }, end_now(RunStatus::Cancelled, None, None));
        } else {
            let failure = RecordedFailure::new(AGENTS_WORKFLOW_ERROR, error.to_string());
            let row = end_now(RunStatus::Failed, None, Some(failure.clone()));
            self.closes(&EventKind::RunFailed { failure, usage: None }, row);
        }
    }
}

/// The beginning of a run on a task.
pub(super) enum From {
    /// A new run with this input.
    Input(RunInput),
    /// A run that waits, which another process began, and the decisions that this process may not
    /// have acted on.
    Paused(Box<PausedTask>, Vec<AgentDecision>),
}

/// The parts of a beginning.
struct Parts {
    /// Prefix of the run's effects.
    run: String,
    /// Its facts so far.
    facts: Facts,
    session_writes: u32,
    decisions: Vec<AgentDecision>,
    from: Run,
}

impl From {
    /// Returns the beginning of a run that waits.
    pub(super) async fn paused(store: &SqlStore, task: &str, paused: Box<PausedTask>) -> Result<Self, SqlStoreError> {
        let decisions = mail::decisions_after(store, task, paused.mail).await?;
        Ok(Self::Paused(paused, decisions))
    }

    fn parts(self, execution: &str) -> Parts {
        let execution = short_id(execution).to_owned();
        match self {
            Self::Input(input) => {
                let run = uuid::Uuid::new_v4().simple().to_string();
                let (facts, from) = (Facts::of_execution(execution), Run::Start(input));
                Parts { run, facts, session_writes: 0, decisions: Vec::new(), from }
            }
            Self::Paused(paused, decisions) => {
                let PausedTask { run, state, facts, session_writes, inbox: _, mail: _ } = *paused;
                let facts = Facts::continued_from(facts).unwrap_or_default().in_execution(execution);
                Parts { run, facts, session_writes, decisions, from: Run::Continue(state) }
            }
        }
    }
}

#[cfg(test)]
mod tests;
