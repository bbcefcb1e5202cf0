//! The runs in the database of a service, for those that the server does not have any more.
//!
//! The server is requested first, always: the database lags behind it.

mod events;

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::{Duration, SystemTime},
};

use temporal_agents_core::wire::{RecordedFailure, RunMode, RunStatus, run_place::RunPlace};
use temporalio_client::NamespacedClient as _;
use tokio::time::timeout;

pub(super) use self::events::StoredEvents;
use self::events::{follow_stored, sequence_of};
use super::{
    list::{Filter, Rows},
    read::{Found, find},
    recorded::Recorded,
    row::{Row, StoredResult, kind_of, title_of},
    visibility::existing,
};
use crate::{
    client::{
        AGENT_MEMO, LABELS_MEMO, NewRun, NotStarted, RunEventsError, StartRunError, THREAD_MEMO, TITLE_MEMO,
        WorkflowRuns, described, execution_of,
    },
    http::{error::ApiError, service::Shared},
    store::{
        SqlStore, SqlStoreError,
        sql::runs::{FailedStart, ListedRun, RunFilter, RunRow, millis, rfc3339},
    },
};

/// Number of rows that are read together, and then looked for on the server.
const PAGE: u32 = 100;
/// Time for which a start waits for its row.
const RECORD_TIMEOUT: Duration = Duration::from_secs(2);

/// The database of a service, if it has one.
#[derive(Clone, Default)]
pub(in crate::http) struct RunStore(Option<SqlStore>);

/// A run that is about to be started, as far as its row shows it.
pub(super) struct DescribedRun {
    workflow_type: &'static str,
    agent: Option<String>,
    title: Option<String>,
    thread: Option<String>,
    labels: BTreeMap<String, String>,
}

/// A reader of rows that the server does not have, latest first.
pub(super) struct StoredRows<'s> {
    shared: &'s Shared,
    store: SqlStore,
    filter: RunFilter,
    is_open: bool,
    /// The place after the latest row.
    place: RunPlace,
    /// The next rows, and whether the server has a workflow with the id of each.
    read: VecDeque<(ListedRun, bool)>,
    is_last: bool,
}

impl Rows for StoredRows<'_> {
    type Place = RunPlace;

    async fn next(&mut self) -> Result<Option<Row>, ApiError> {
        loop {
            if let Some((run, is_on_server)) = self.read.pop_front() {
                self.place = run.place();
                // A workflow that the server does not list as open has ended, which the projector has
                // not noticed yet.
                if is_on_server || (self.is_open && run.mode == RunMode::Temporal) {
                    continue;
                }
                return Ok(Some(shown(run)));
            }
            if self.is_last {
                return Ok(None);
            }
            let page = self.store.runs_after(&self.filter, &self.place, self.is_open, PAGE).await;
            let page = page.map_err(ApiError::database)?;
            self.is_last = page.len() < PAGE as usize;
            let ids: Vec<&str> = page.iter().map(|run| &*run.id).collect();
            let existing = existing(&self.shared.workflows()?.client, &ids).await?;
            let is_on_server = |run: ListedRun| {
                let is_on_server = existing.contains(&run.id);
                (run, is_on_server)
            };
            self.read = page.into_iter().map(is_on_server).collect();
        }
    }

    fn place(&self) -> RunPlace {
        self.place.clone()
    }
}

impl RunStore {
    pub(in crate::http) fn new(store: &SqlStore) -> Self {
        Self(Some(store.clone()))
    }

    /// Returns the run with this id, which the server does not have.
    pub(super) async fn run(&self, shared: &Shared, id: &str) -> Result<Option<Row>, ApiError> {
        let Some(mut row) = self.stored(shared, id).await? else { return Ok(None) };
        let failure = row.failure.take().as_ref().map(innermost);
        let result = StoredResult { output: row.output.take(), failure };
        let mut shown = Row { stored: Some(result), ..shown(row.into()) };
        if shown.is_open() && shown.mode == RunMode::Temporal {
            // The projector has not noticed yet.
            shown.status = RunStatus::Gone;
        }
        Ok(Some(shown))
    }

    /// Returns a reader of the rows after this place that the server does not have; `None` without a
    /// database.
    pub(super) fn rows<'s>(&self, shared: &'s Shared, place: RunPlace, wanted: &Filter<'_>) -> Option<StoredRows<'s>> {
        let (store, filter) = (self.0.clone()?, filter(shared)?);
        let is_open = wanted.is_open();
        Some(StoredRows { shared, store, filter, is_open, place, read: VecDeque::new(), is_last: false })
    }

    /// Returns the events of a run after this cursor that only the database has; `None` if the
    /// server has all of them.
    pub(super) async fn events(
        &self,
        shared: &Shared,
        row: &Row,
        from: Option<&str>,
    ) -> Result<Option<StoredEvents>, ApiError> {
        let Some(store) = self.0.as_ref().filter(|_| row.mode == RunMode::Temporal) else { return Ok(None) };
        let is_stored = row.stored.is_some();
        let is_place = from.is_some_and(|from| sequence_of(from).is_some());
        let from_execution = from.and_then(execution_of);
        if !is_stored && !is_place && (row.is_first_execution || from_execution.as_ref() == Some(&row.execution)) {
            return Ok(None);
        }
        let Some(run) = self.stored(shared, &row.id).await? else { return Ok(None) };
        let origin = from_execution.unwrap_or_else(|| run.key.clone());
        if !is_stored && !is_place && has_execution(shared, &row.id, &origin).await? {
            return Ok(None);
        }
        // The server has the latest executions; the events before them come from the database.
        let next = if is_stored { None } else { run.cursor.clone() };
        if next.is_none() && !is_stored {
            return Ok(None);
        }
        Ok(Some(StoredEvents { events: follow_stored(store.clone(), run, from.map(str::to_owned)), next }))
    }

    /// Returns the part of a run that its row shows.
    pub(super) fn describe(run: &NewRun) -> DescribedRun {
        DescribedRun {
            workflow_type: run.workflow_type(),
            agent: run.agent().map(str::to_owned),
            title: run.title(),
            thread: run.thread().map(str::to_owned),
            labels: run.labels().clone(),
        }
    }

    /// Records that a workflow was started. The projector finds the row and fills it; without this,
    /// the row would come some seconds later. The run has been started, so the caller waits for two
    /// seconds at most, and a failure is only logged.
    pub(super) async fn record_start(&self, shared: &Arc<Shared>, id: &str) {
        let Some(store) = self.0.clone() else { return };
        let (shared, id) = (Arc::clone(shared), id.to_owned());
        let recorded = SqlStore::finish(async move {
            if let Some(row) = started_row(&shared, &id).await
                && let Err(error) = store.insert_run(&row).await
            {
                tracing::warn!(%error, id, "the row of a run cannot be written now; the projector writes it");
            }
            Ok::<_, SqlStoreError>(())
        });
        let _ = timeout(RECORD_TIMEOUT, recorded).await;
    }

    /// Records that a run could not be started, and why.
    pub(super) async fn record_failed_start(&self, shared: &Shared, run: DescribedRun, error: &StartRunError) {
        let (Some(store), Some(workflows)) = (&self.0, shared.runs.workflows()) else { return };
        if error.reason != NotStarted::Server {
            return;
        }
        let row = run.into_row(workflows, String::new(), &error.id);
        let failure = RecordedFailure::new("StartRunError", error.to_string());
        let store = store.clone();
        let recorded =
            SqlStore::finish(async move { store.record_failed_start(FailedStart { row, failure }).await }).await;
        if let Err(error) = recorded {
            tracing::warn!(%error, "the failed start of a run cannot be recorded");
        }
    }

    async fn stored(&self, shared: &Shared, id: &str) -> Result<Option<RunRow>, ApiError> {
        let (Some(store), Some(filter)) = (&self.0, filter(shared)) else { return Ok(None) };
        let row = store.run(&filter.namespace, id).await.map_err(ApiError::database)?;
        Ok(row.filter(|row| filter.has(row)))
    }
}

impl DescribedRun {
    /// Returns the row of the run as a workflow.
    fn into_row(self, workflows: &WorkflowRuns, key: String, id: &str) -> RunRow {
        let Self { workflow_type, agent, title, thread, labels } = self;
        let mut row = RunRow::new(key, id, RunMode::Temporal);
        row.namespace = workflows.client.namespace();
        row.task_queue.clone_from(&workflows.task_queue);
        workflow_type.clone_into(&mut row.workflow_type);
        row.agent = agent;
        row.thread = thread;
        row.title = title;
        row.labels = labels;
        row
    }
}

/// Returns the row of a workflow that was started; `None` for a task of a process, which has its row,
/// and for a workflow that is not of this service or cannot be described.
async fn started_row(shared: &Shared, id: &str) -> Option<RunRow> {
    let Ok(Found::Run(found)) = find(shared, id).await else { return None };
    let described = found.described?;
    let memo = described.memo();
    let info = described.raw().workflow_execution_info.clone()?;
    let execution = info.execution?.run_id;
    let first = Some(info.first_run_id).filter(|id| !id.is_empty()).unwrap_or_else(|| execution.clone());
    let mut row = RunRow::new(first, id, RunMode::Temporal);
    row.namespace = shared.workflows().ok()?.client.namespace();
    row.task_queue = info.task_queue;
    row.workflow_type = info.r#type.unwrap_or_default().name;
    row.agent = memo.get(AGENT_MEMO).ok().flatten();
    row.title = memo.get(TITLE_MEMO).ok().flatten();
    row.thread = memo.get(THREAD_MEMO).ok().flatten();
    row.labels = memo.get(LABELS_MEMO).ok().flatten().unwrap_or_default();
    row.execution = execution;
    if let Some(start) = info.start_time.and_then(|start| SystemTime::try_from(start).ok()) {
        row.started_at = millis(start);
    }
    Some(row)
}

/// Returns the workflows of this service; `None` if it has no Temporal client.
fn filter(shared: &Shared) -> Option<RunFilter> {
    let workflows = shared.runs.workflows()?;
    Some(RunFilter {
        namespace: workflows.client.namespace(),
        workflow_types: shared.workflow_types.clone(),
        task_queues: vec![workflows.task_queue.clone()],
    })
}

/// Returns `true` if the server has this execution of a workflow.
async fn has_execution(shared: &Shared, id: &str, execution: &str) -> Result<bool, ApiError> {
    match described(&shared.workflows()?.client, id, Some(execution)).await {
        Ok(_) => Ok(true),
        Err(RunEventsError::NotFound { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn shown(run: ListedRun) -> Row {
    let (kind, workflow_type) = kind_of(run.workflow_type);
    Row {
        title: title_of(run.title, run.agent.as_ref(), workflow_type.as_ref(), &run.id),
        is_first_execution: run.execution == run.key,
        id: run.id,
        kind,
        workflow_type,
        agent: run.agent,
        thread: run.thread,
        status: run.status,
        execution: run.execution,
        mode: run.mode,
        started_at: Some(rfc3339(run.started_at)),
        ended_at: run.ended_at.map(rfc3339),
        labels: run.labels,
        recorded: Recorded::All(Vec::new()),
        digest: None,
        stored: None,
        is_idle: false,
        problem: None,
        described: None,
        reported: None,
    }
}

/// Returns the message of the innermost cause, which names the problem.
fn innermost(failure: &RecordedFailure) -> String {
    let cause = std::iter::successors(Some(failure), |failure| failure.cause.as_deref()).last();
    cause.map(|cause| cause.message.clone()).unwrap_or_default()
}
