//! The problems of runs that make no progress.
//!
//! # Design
//! **One run is described, and explained.** The description that every request for one run makes
//! anyway has almost all; see `client/diagnosis`. Why a replay differs is explained by a replay with
//! the agents of this service, once for each failure, one at a time. If these are not the agents of
//! the workers, the replay fails at another event, and Temporal's own words are shown.
//!
//! **Problems cost a list no request for each row.** The rows have the server's search attribute
//! `TemporalReportedProblems`, which it sets by default after five failures of a workflow task in
//! a row (some 50 seconds). One request, kept for five seconds, tells whether the queue has a worker.
//! What neither tells, a provider that answers 429 above all, is found by a watcher.
//!
//! **The watcher works only for readers.** It runs from the first list until ten minutes after the
//! latest. A pass is one list of the latest 500 open runs and at most 60 descriptions, four a second,
//! of those that it has not seen for the longest time; the next begins 15 seconds after its end. So a
//! minute costs at most 120 descriptions, and none without open runs. Runs that wait for people are
//! left out.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use futures::{FutureExt, Stream, StreamExt, future::BoxFuture};
use temporal_agents_core::{
    agent::AgentDef,
    wire::{RunEvent, RunMode, RunProblem, RunProblemKind, RunStatus},
};
use temporalio_client::{
    UntypedWorkflow, WorkflowDescribeOptions, WorkflowExecutionDescription, WorkflowFetchHistoryOptions,
};
use temporalio_common::protos::temporal::api::history::v1::History;
use tokio::{
    runtime::Handle,
    sync::Semaphore,
    time::{Instant, sleep, timeout},
};

use super::{
    error::ApiError,
    runs::{self, Row},
    service::Shared,
};
use crate::{
    client::{AgentHandleError, Diagnosis, NotStarted, QuietWatch, StartRunError, replay_differs},
    replay::{ReadyMadeReplay, ReplayChange},
};

/// The interval between two passes of the watcher.
const PASS: Duration = Duration::from_secs(15);
/// The pause between two descriptions.
const PAUSE: Duration = Duration::from_millis(250);
/// Number of descriptions in a pass.
const MAX_DESCRIBED: usize = 60;
/// Time after the latest list in which the watcher works.
const WATCHED: Duration = Duration::from_mins(10);
/// Time for which a list shows the problem that a run had.
const KEPT: Duration = Duration::from_mins(6);
/// Time in which a failure of a replay must be explained.
const EXPLAINED_IN: Duration = Duration::from_secs(10);
/// Number of looks that are kept.
const MAX_LOOKS: usize = 10_000;
/// Number of explanations that are kept.
const MAX_EXPLAINED: usize = 1_000;

/// What the service knows of the problems of runs.
pub(super) struct Problems {
    diagnosis: Option<Diagnosis>,
    replay: Arc<ReadyMadeReplay>,
    replays: Arc<Semaphore>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The latest look at a run, by the id of its execution.
    looks: BTreeMap<String, (Instant, Option<RunProblem>)>,
    /// The changes that explain failures, by workflow and failure.
    changes: BTreeMap<(String, String), Option<ReplayChange>>,
    /// Time until which the watcher works; `None` while there is none.
    watched_until: Option<Instant>,
}

impl Problems {
    pub(super) fn new(diagnosis: Option<Diagnosis>, agents: impl IntoIterator<Item = AgentDef>) -> Self {
        let replay = Arc::new(ReadyMadeReplay::new(agents.into_iter().collect()));
        Self { diagnosis, replay, replays: Arc::new(Semaphore::new(1)), state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    /// Returns the problem of a run; `None` also if it cannot be read.
    pub(super) async fn problem(&self, mode: RunMode, id: &str) -> Option<RunProblem> {
        if mode == RunMode::InProcess {
            return None;
        }
        let handle = self.workflows().ok()?.client.get_workflow_handle::<UntypedWorkflow>(id);
        let described = handle.describe(WorkflowDescribeOptions::default()).await.ok()?;
        self.problem_of(&described).await
    }

    /// Begins to look for the problem of a run.
    pub(super) fn look(self: &Arc<Self>, mode: RunMode, id: &str) -> Look {
        let (shared, id) = (Arc::clone(self), id.to_owned());
        async move { shared.problem(mode, &id).await }.boxed()
    }

    /// Returns the problem of a run that was described just now.
    pub(super) async fn problem_of(&self, described: &WorkflowExecutionDescription) -> Option<RunProblem> {
        let diagnosis = self.problems.diagnosis.as_ref()?;
        let problem = Box::pin(diagnosis.of_described(described)).await;
        let problem = match problem {
            Some(problem) => Some(Box::pin(self.explained(described.id(), problem)).await),
            None => None,
        };
        let mut state = self.problems.state();
        if state.looks.len() >= MAX_LOOKS {
            state.looks.clear();
        }
        state.looks.insert(described.run_id().to_owned(), (Instant::now(), problem.clone()));
        problem
    }

    /// Returns the error of a message that a run has not taken, or of a query.
    pub(super) async fn refusal(&self, id: &str, error: AgentHandleError) -> ApiError {
        match error {
            AgentHandleError::Stuck { problem, .. } => {
                ApiError::run_stuck(&Box::pin(self.explained(id, *problem)).await)
            }
            other => other.into(),
        }
    }

    /// Returns the error of a message that the server has not taken: it passes none to a workflow
    /// whose task fails again and again.
    pub(super) async fn refused_message(&self, id: &str, error: StartRunError) -> ApiError {
        if error.reason == NotStarted::Server
            && let Some(problem) =
                Box::pin(self.problem(RunMode::Temporal, id)).await.filter(RunProblem::blocks_messages)
        {
            return ApiError::run_stuck(&problem);
        }
        error.into()
    }

    /// Returns the error of a message that no worker has answered: what is wrong with the run, if
    /// something is.
    pub(super) async fn unanswered(&self, mode: RunMode, id: &str) -> ApiError {
        match Box::pin(self.problem(mode, id)).await {
            Some(problem) if problem.blocks_messages() => ApiError::run_stuck(&problem),
            Some(problem) if problem.kind == RunProblemKind::NoWorker => ApiError::no_worker_because(&problem),
            _ => ApiError::no_worker(),
        }
    }

    /// Adds the problems that are known to the rows of a list, and starts the watcher.
    pub(super) async fn mark(self: &Arc<Self>, rows: &mut [Row]) {
        let is_open = |row: &&mut Row| row.is_open() && row.mode == RunMode::Temporal;
        let mut open: Vec<&mut Row> = rows.iter_mut().filter(is_open).collect();
        let (Some(diagnosis), Ok(workflows)) = (&self.problems.diagnosis, self.workflows()) else { return };
        if open.is_empty() {
            return;
        }
        let of_queue = diagnosis.of_queue(&workflows.task_queue).await;
        {
            let state = self.problems.state();
            for row in &mut open {
                let look = state.looks.get(&row.execution).filter(|(at, _)| at.elapsed() < KEPT);
                let known = look.and_then(|(_, problem)| problem.clone());
                // A chat without a message and a run that waits need no worker now.
                let is_at_work = !row.is_idle && row.status != RunStatus::Waiting;
                row.problem = known.or_else(|| reported(row)).or_else(|| of_queue.clone().filter(|_| is_at_work));
            }
        }
        self.watch_problems();
    }

    /// Keeps the watcher at work.
    fn watch_problems(self: &Arc<Self>) {
        let until = Instant::now() + WATCHED;
        let is_at_work = self.problems.state().watched_until.replace(until).is_some();
        if !is_at_work {
            tokio::spawn(watch(Arc::downgrade(self)));
        }
    }

    /// Says in a problem what has changed, if the replay differs and this service knows why.
    async fn explained(&self, id: &str, mut problem: RunProblem) -> RunProblem {
        if problem.kind != RunProblemKind::ReplayDiffers {
            return problem;
        }
        if let Ok(Some(change)) = timeout(EXPLAINED_IN, self.change(id, &problem.message)).await {
            let explained = replay_differs(&change.to_string());
            problem.message = explained.message;
            problem.agent = change.agent;
        }
        problem
    }

    async fn change(&self, id: &str, failure: &str) -> Option<ReplayChange> {
        let key = (id.to_owned(), failure.to_owned());
        let place = Arc::clone(&self.problems.replays).acquire_owned().await.ok()?;
        if let Some(change) = self.problems.state().changes.get(&key) {
            return change.clone();
        }
        let client = self.workflows().ok()?.client.clone();
        let pages = client.get_workflow_handle::<UntypedWorkflow>(id);
        let pages = pages.fetch_history(WorkflowFetchHistoryOptions::default());
        let history = History { events: pages.into_events().await.ok()? };
        let replay = Arc::clone(&self.problems.replay);
        let failed_with = failure.to_owned();
        // The future of a replay stays on its thread.
        let replayed = tokio::task::spawn_blocking(move || {
            // One replay at a time, also if nobody waits for it any more.
            let _place = place;
            let converter = temporalio_client::NamespacedClient::data_converter(&client);
            Handle::current().block_on(replay.change(history, converter, &failed_with))
        });
        let change = replayed.await.ok()?;
        let mut state = self.problems.state();
        if state.changes.len() >= MAX_EXPLAINED {
            state.changes.clear();
        }
        state.changes.insert(key, change.clone());
        change
    }

    /// Looks at the open runs that it has not seen for the longest time. Returns `false` if no list
    /// was read for a while.
    async fn look_at_runs(&self) -> bool {
        {
            let mut state = self.problems.state();
            state.looks.retain(|_, (at, _)| at.elapsed() < KEPT);
            if state.watched_until.is_none_or(|until| until <= Instant::now()) {
                state.watched_until = None;
                return false;
            }
        }
        let Ok(mut open) = runs::open_workflows(self).await else { return true };
        {
            let state = self.problems.state();
            open.sort_by_key(|row| state.looks.get(&row.execution).map(|(at, _)| *at));
        }
        for row in open.into_iter().take(MAX_DESCRIBED) {
            self.problem(row.mode, &row.id).await;
            sleep(PAUSE).await;
        }
        true
    }
}

/// Looks at the open runs again and again.
async fn watch(shared: Weak<Shared>) {
    while let Some(shared) = shared.upgrade()
        && Box::pin(shared.look_at_runs()).await
    {
        drop(shared);
        sleep(PASS).await;
    }
}

/// Returns the problem that the server reports in the row of a workflow.
fn reported(row: &Row) -> Option<RunProblem> {
    let cause = row.reported.as_ref()?;
    let problem = RunProblem::new(
        RunProblemKind::WorkflowTaskFails,
        format!("the workflow task fails again and again: {cause}"),
        format!("GET /runs/{} and the worker's log have the failure", row.id),
    );
    Some(problem)
}

/// The events of a run, and its problem while no event comes.
pub(super) struct Followed<S> {
    shared: Arc<Shared>,
    mode: RunMode,
    id: String,
    events: S,
    quiet: QuietWatch,
    /// The look that is under way. Events come meanwhile.
    look: Option<Look>,
    due: Option<FollowedItem>,
}

/// A look for the problem of a run.
pub(super) type Look = BoxFuture<'static, Option<RunProblem>>;

/// Waits for the end of a look; without one for ever.
pub(super) async fn looked(look: &mut Option<Look>) -> Option<RunProblem> {
    match look {
        Some(looking) => {
            let problem = looking.await;
            *look = None;
            problem
        }
        None => std::future::pending().await,
    }
}

/// An event of a run, or a change of its problem.
pub(super) enum FollowedItem {
    Event(Box<Result<RunEvent, ApiError>>),
    /// `None` after a problem has ended.
    Problem(Option<RunProblem>),
}

impl<S: Stream<Item = Result<RunEvent, ApiError>> + Unpin> Followed<S> {
    pub(super) fn new(shared: &Arc<Shared>, (mode, id): (RunMode, &str), events: S) -> Self {
        let (shared, id) = (Arc::clone(shared), id.to_owned());
        Self { shared, mode, id, events, quiet: QuietWatch::default(), look: None, due: None }
    }

    /// Returns the next event, or a change of the problem; `None` after the last event.
    pub(super) async fn next(&mut self) -> Option<FollowedItem> {
        if let Some(due) = self.due.take() {
            return Some(due);
        }
        loop {
            tokio::select! {
                biased;
                event = self.events.next() => {
                    self.look = None;
                    let event = FollowedItem::Event(Box::new(event?));
                    if self.quiet.event_came() {
                        self.due = Some(event);
                        return Some(FollowedItem::Problem(None));
                    }
                    return Some(event);
                }
                () = self.quiet.is_due(), if self.look.is_none() => {
                    self.look = Some(self.shared.look(self.mode, &self.id));
                }
                problem = looked(&mut self.look) => {
                    if let Some(news) = self.quiet.looked(problem) {
                        return Some(FollowedItem::Problem(news));
                    }
                }
            }
        }
    }
}
