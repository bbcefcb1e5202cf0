//! The tasks of this process.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use temporal_agents_core::{
    agent::AgentDef,
    drive::{RunConfig, RunFailure, RunResult},
    engine::RunError,
    wire::{AgentRequest, EventKind, RunStatus, ready_made::AgentReport},
};
use tokio::sync::{Mutex as AsyncMutex, MutexGuard as AsyncMutexGuard, Notify};
use uuid::Uuid;

use super::{
    admission::{Admission, Admitted},
    broker::DeltaBroker,
    chat,
    follower::Following,
    host::PausedTask,
    lost, mail,
    rows::{self, Task},
    task::{From, Owned},
    watch,
    writer::end_now,
};
use crate::{
    inline::{InlineRunner, RunTracer},
    metrics::Metrics,
    remote::transport::Streams,
    resources::Resources,
    store::{SqlStore, SqlStoreError},
    workflow::{AgentSet, AskedTools, Requested},
};

/// Time after which the tasks of a process that does not beat are taken over. Longer than a
/// database usually takes to fail over, because a process that cannot write for so long loses its
/// runs.
const LEASE: Duration = Duration::from_mins(1);
/// Number of locks for tasks; different tasks rarely share one.
const TASK_LOCKS: usize = 64;

/// Runs and chats as tasks of this process, in a store that other processes share; see the
/// [module](crate::in_process). Clones share their tasks.
#[derive(Clone)]
pub struct InProcessRuns {
    settings: Settings,
    process: Arc<OnceLock<Arc<Process>>>,
}

/// The settings of a process.
#[derive(Clone)]
pub(super) struct Settings {
    pub(super) store: SqlStore,
    pub(super) agents: AgentSet,
    pub(super) runner: InlineRunner,
    pub(super) lease: Duration,
    pub(super) admission: Arc<Admission>,
    /// Id of this process.
    pub(super) process: String,
    /// Wakes those who wait for an answer.
    pub(super) answered: Arc<Notify>,
    /// The broker of deltas for readers in other processes.
    pub(super) deltas: Option<DeltaBroker>,
}

/// The tasks of this process, and what it knows of others.
pub(super) struct Process {
    pub(super) settings: Settings,
    owned: Mutex<BTreeMap<String, Arc<Owned>>>,
    /// See [`lock_task`](Process::lock_task).
    task_locks: [AsyncMutex<()>; TASK_LOCKS],
    /// The followers of executions that other processes own.
    pub(super) followed: Mutex<BTreeMap<String, Weak<Following>>>,
    /// Wakes the reader of mail.
    pub(super) posted: Notify,
    pub(super) is_stopping: AtomicBool,
    /// `true` once the tasks are left to others: a beat would keep them from it.
    pub(super) has_stopped: AtomicBool,
}

impl InProcessRuns {
    /// Creates the tasks of this process: runs of these agents, with these resources or with a
    /// model provider alone. All processes that share the store have the same agents.
    pub fn new(store: SqlStore, agents: AgentSet, resources: impl Into<Resources>) -> Self {
        let runner = InlineRunner::with_config(resources, RunConfig::clone(&agents.config));
        let process = Uuid::new_v4().simple().to_string();
        let settings = Settings {
            store,
            agents,
            runner,
            lease: LEASE,
            admission: Arc::default(),
            process,
            answered: Arc::default(),
            deltas: None,
        };
        Self { settings, process: Arc::default() }
    }

    /// Sets the time after which other processes take over the tasks of this one, if it does not
    /// beat: default 60 seconds. A store that is unavailable for a whole lease costs this process the
    /// runs that are under way: they fail as `ProcessLost`. All processes that share the store have
    /// the same lease. Must be called before the first use.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> Self {
        self.settings.lease = lease;
        self
    }

    /// Sets the maximum number of runs of this process that work at the same time. Defaults to 256.
    ///
    /// Further runs wait with the status `queued`. A run that waits for people does not count. Must
    /// be called before the first use.
    #[must_use]
    pub fn max_at_work(mut self, runs: usize) -> Self {
        self.settings.admission = Arc::new(self.settings.admission.with_max_at_work(runs));
        self
    }

    /// Sets the maximum number of new runs that wait until they may work. Defaults to 1,000.
    ///
    /// Further starts are refused before anything is written: over HTTP with 503 and `retry-after`.
    /// Must be called before the first use.
    #[must_use]
    pub fn max_queued(mut self, runs: usize) -> Self {
        self.settings.admission = Arc::new(self.settings.admission.with_max_queued(runs));
        self
    }

    /// Counts the attempts of the runs at calls of models and tools: see [`InlineRunner::metrics`].
    /// Must be called before the first use.
    #[must_use]
    pub fn metrics(mut self, metrics: &Metrics) -> Self {
        self.settings.runner = self.settings.runner.metrics(metrics);
        self
    }

    /// Sets the maker of spans of the runs: see [`InlineRunner::tracer`]. Must be called before the
    /// first use.
    #[must_use]
    pub fn tracer(mut self, tracer: RunTracer) -> Self {
        self.settings.runner = self.settings.runner.tracer(tracer);
        self
    }

    /// Sets the streams over which deltas go to readers in other processes.
    pub(crate) fn delta_streams(mut self, streams: Arc<dyn Streams>) -> Self {
        self.settings.deltas = Some(DeltaBroker::new(streams));
        self
    }

    /// Stops the tasks of this process. Runs that wait and chats are left in the store, where other
    /// processes continue them, at once, or after a lease if their questions expire; the others
    /// have this time to end or to pause. Then they fail.
    pub async fn shutdown(&self, grace: Duration) {
        if let Some(process) = self.process.get() {
            watch::shut_down(process, grace).await;
        }
    }

    /// Returns the process, which begins to read mail and to beat at the first call.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub(super) fn process(&self) -> &Arc<Process> {
        self.process.get_or_init(|| {
            let process = Arc::new(Process {
                settings: self.settings.clone(),
                owned: Mutex::default(),
                task_locks: std::array::from_fn(|_| AsyncMutex::default()),
                followed: Mutex::default(),
                posted: Notify::new(),
                is_stopping: AtomicBool::new(false),
                has_stopped: AtomicBool::new(false),
            });
            watch::begin(&process);
            process
        })
    }
}

impl fmt::Debug for InProcessRuns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InProcessRuns")
            .field("store", &self.settings.store)
            .field("process", &self.settings.process)
            .finish_non_exhaustive()
    }
}

/// The outcome of a start.
pub(super) enum Start {
    Started,
    /// There is a task with this id.
    Exists(Box<Task>),
    /// Too many runs wait, or are being started. Nothing was written.
    Refused,
    /// There was a task with this id, which was deleted meanwhile.
    Vanished,
}

impl Process {
    /// Writes the row of a task, and starts it. A task of this process that is in the store and has
    /// not begun is started, too: the outcome of its first start was unknown.
    ///
    /// The caller runs this to its end: the row and the task belong together.
    pub(super) async fn start(self: Arc<Self>, task: Task) -> Result<Start, SqlStoreError> {
        let Some(mut admitted) = self.settings.admission.admit() else {
            // A start that is sent again finds its run, however many others wait.
            let existing = rows::find(&self.settings.store, &task.key).await?;
            return Ok(existing.map_or(Start::Refused, |existing| Start::Exists(Box::new(existing))));
        };
        let _locked = self.lock_task(&task.key).await;
        if rows::insert(&self.settings.store, &task).await? {
            admitted.has_started();
            self.spawn_admitted(task, Vec::new(), Some(admitted));
            return Ok(Start::Started);
        }
        let Some(existing) = rows::find(&self.settings.store, &task.key).await? else { return Ok(Start::Vanished) };
        let is_unstarted = existing.may_begin() && existing.owner == self.settings.process;
        if is_unstarted && self.owned(&existing.key).is_none() {
            admitted.has_started();
            self.spawn_admitted(existing.clone(), Vec::new(), Some(admitted));
        }
        Ok(Start::Exists(Box::new(existing)))
    }

    /// Starts a chat again that has ended. Returns `false` if another request has done so.
    ///
    /// The caller runs this to its end, as [`start`](Self::start).
    pub(super) async fn restart_chat(self: Arc<Self>, ended: Task, task: Task) -> Result<bool, SqlStoreError> {
        let _locked = self.lock_task(&task.key).await;
        let answers = chat::answers_after_end(&ended);
        let has_begun = rows::restart_chat(&self.settings.store, &ended, &task, &answers).await?;
        if has_begun {
            self.spawn(task, Vec::new());
        }
        Ok(has_begun)
    }

    /// Locks a task in this process, from the look at its row until it runs here: a start, a mail and
    /// a take-over may find the same row, and only one of them may run it.
    pub(super) async fn lock_task(&self, key: &str) -> AsyncMutexGuard<'_, ()> {
        let place = key.bytes().fold(0, |sum, byte| (sum * 31 + usize::from(byte)) % TASK_LOCKS);
        self.task_locks[place].lock().await
    }

    /// Returns the task with this key, if this process owns it.
    pub(super) fn owned(&self, key: &str) -> Option<Arc<Owned>> {
        self.lock().get(key).cloned()
    }

    /// Returns all tasks that this process owns.
    pub(super) fn all(&self) -> Vec<Arc<Owned>> {
        self.lock().values().cloned().collect()
    }

    /// Returns `true` if this process owns a task.
    pub(super) fn has_tasks(&self) -> bool {
        !self.lock().is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Owned>>> {
        self.owned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a task that this process has claimed, and starts it. The caller has locked the task.
    ///
    /// # Errors
    /// The store fails; the task is taken over when this process has died.
    pub(super) async fn take_up(self: &Arc<Self>, task: Task) -> Result<(), SqlStoreError> {
        let latest = match task.paused {
            Some(_) => rows::latest(&self.settings.store, &task.run.key, i64::MAX).await?,
            None => Vec::new(),
        };
        let cancel = mail::answer(&self.settings.store, &task.key, mail::CANCEL).await?;
        let owned = self.spawn(task, latest.into_iter().map(|(_, event)| event.id).collect());
        // The process before has answered this, and may not have acted on it.
        if cancel.flatten().is_some() {
            owned.cancelled.cancel();
        }
        Ok(())
    }

    /// Adds a task that belongs to this process, and starts it.
    fn spawn(self: &Arc<Self>, task: Task, known: Vec<String>) -> Arc<Owned> {
        self.spawn_admitted(task, known, None)
    }

    fn spawn_admitted(self: &Arc<Self>, task: Task, known: Vec<String>, admitted: Option<Admitted>) -> Arc<Owned> {
        let paused = task.paused.clone().map(serde_json::from_value::<PausedTask>).transpose();
        let inbox = paused.as_ref().ok().and_then(Option::as_ref).map(|paused| paused.inbox.clone());
        let owned = Owned::new(&self.settings, &task, inbox.or_else(|| task.inbox.clone()), known);
        owned.waits_for_place(admitted);
        // One that has left the task may still be there: it removes only itself.
        self.lock().insert(task.key.clone(), Arc::clone(&owned));
        if self.is_stopping() {
            owned.stopped.cancel();
        }
        let (process, started) = (Arc::clone(self), Arc::clone(&owned));
        tokio::spawn(async move {
            match paused {
                Ok(paused) => Box::pin(process.execute(&owned, &task, paused.map(Box::new))).await,
                // From its beginning it would do again what it has done.
                Err(error) => owned.fails(&unreadable(&error).error),
            }
            if owned.stopped.is_cancelled()
                && process.is_stopping()
                && let Err(error) = lost::stop(&process, &owned).await
            {
                tracing::warn!(%error, id = owned.id, "the end of a run cannot be written");
            }
            // All is written before readers and others learn that the task has left.
            owned.log.flush().await;
            owned.hub.end();
            let mut tasks = process.lock();
            if tasks.get(&owned.key).is_some_and(|current| Arc::ptr_eq(current, &owned)) {
                tasks.remove(&owned.key);
            }
        });
        started
    }

    async fn execute(&self, owned: &Arc<Owned>, task: &Task, paused: Option<Box<PausedTask>>) {
        let paused = match paused {
            Some(paused) => match From::paused(&self.settings.store, &task.key, paused).await {
                Ok(from) => Some(from),
                Err(error) => {
                    tracing::error!(%error, id = task.run.id, "a run that waits cannot be taken over now");
                    return;
                }
            },
            None => None,
        };
        if task.is_chat() {
            Box::pin(chat::talk(self, owned, task, paused)).await;
            return;
        }
        let ended = match Box::pin(self.run(owned, task, paused)).await {
            Ok(output) => {
                let end = EventKind::RunFinished { output: Value::Null, usage: None };
                owned.closes(&end, end_now(RunStatus::Completed, Some(output), None));
                return;
            }
            // Another process has the task, or will have it. An end that the run has noted is
            // that of the task.
            Err(_) if owned.stopped.is_cancelled() && !owned.log.is_holding() => return,
            Err(failure) => failure,
        };
        owned.fails(&ended.error);
    }

    /// Runs the agent of a request.
    async fn run(&self, owned: &Arc<Owned>, task: &Task, paused: Option<From>) -> Result<Value, Box<RunFailure>> {
        let request: AgentRequest = serde_json::from_str(&task.request).map_err(|error| unreadable(&error))?;
        let agents = &self.settings.agents;
        let name = agents.name_of(request.agent.as_deref(), request.spec.as_ref()).map_err(RunFailure::from)?;
        let asked = Requested {
            input: request.input.items(),
            context: &request.context,
            max_turns: request.max_turns,
            version: request.agent_version.as_deref(),
            is_child: false,
        };
        agents.admit(&name, &asked).map_err(RunFailure::from)?;
        let AgentRequest { toolsets, user, untrusted, gates, .. } = request.clone();
        let tools = AskedTools { toolsets, user, untrusted, gates, is_child: false };
        agents.admit_tools(&name, &tools).map_err(RunFailure::from)?;
        let agent = self.agent(owned, task, &name, request.spec.as_ref()).await?;
        let mut config = RunConfig::clone(&agents.config);
        config.max_turns = request.max_turns.or(config.max_turns);
        config.context.extend(request.context);
        let thread = agents.thread_session(&name, request.thread.as_deref()).map_err(RunFailure::from)?;
        config.session = thread.or(config.session);
        tools.apply(&mut config);
        if let Some(asked) = request.trace {
            config.trace = asked.within(&config.trace);
        }
        let from = paused.unwrap_or_else(|| From::Input(request.input.into_items().into()));
        let result = self.run_on(owned, agent, config, from).await?;
        if !request.report {
            return Ok(result.final_output);
        }
        let mut report = AgentReport::new(result.final_output, result.usage);
        if request.report_items {
            (report.new_items, report.last_agent) = (result.new_items, result.last_agent);
        }
        Ok(json!(report))
    }

    /// Makes one run on a task, when there is a place for it.
    pub(super) async fn run_on(
        &self,
        owned: &Arc<Owned>,
        agent: AgentDef,
        config: RunConfig,
        from: From,
    ) -> Result<RunResult<Value>, Box<RunFailure>> {
        let place = owned.place_for(self, &from).await.map_err(Box::new)?;
        Box::pin(owned.run(&self.settings, (agent, config), from, place)).await.map_err(Box::new)
    }

    /// Returns `true` once the process takes no new tasks.
    pub(super) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Relaxed)
    }
}

/// Returns the failure of a task whose request this build cannot read.
pub(super) fn unreadable(error: &serde_json::Error) -> RunFailure {
    let message = format!("the request of the run cannot be read: {error}");
    RunError::User { agent: String::new(), message, has_run_data: false }.into()
}
