//! The runs in the database of a service, for those that the server does not have any more.
//!
//! The server is requested first, always: the database lags behind it.

mod events;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, SystemTime},
};

use temporalio_client::NamespacedClient as _;
use tokio::time::timeout;

pub(super) use self::events::StoredEvents;
use self::events::{follow_stored, sequence_of};
use super::row::{Kind, Row, StoredResult};
use crate::{
    client::{NewRun, NotStarted, RunEventsError, StartRunError, WorkflowRuns, described, execution_of},
    http::{error::ApiError, service::Shared},
    store::{
        SqlStore,
        sql::runs::{FailedStart, RunFilter, RunRow, millis, rfc3339},
    },
    wire::{
        RecordedFailure, RunMode, RunStatus,
        ready_made::{AGENT_WORKFLOW, CHAT_WORKFLOW},
    },
};

/// Number of rows that are read together, and maximum number of those for one list.
const PAGE: u32 = 500;
const MAX_SCANNED: usize = 10_000;
/// Time in which the server must describe a run that was started.
const DESCRIBE_TIMEOUT: Duration = Duration::from_secs(5);

/// The database of a service, if it has one.
#[derive(Clone, Default)]
pub(in crate::http) struct RunStore(Option<SqlStore>);

/// A run that is about to be started, as far as its row shows it.
pub(super) struct DescribedRun {
    workflow_type: &'static str,
    agent: Option<String>,
    thread: Option<String>,
    labels: BTreeMap<String, String>,
}

impl RunStore {
    pub(in crate::http) fn new(store: &SqlStore) -> Self {
        Self(Some(store.clone()))
    }

    /// Returns the run with this id, which the server does not have.
    pub(super) async fn run(&self, shared: &Shared, id: &str) -> Result<Option<Row>, ApiError> {
        let Some(row) = self.stored(shared, id).await? else { return Ok(None) };
        let mut shown = shown(&row);
        if shown.is_open() && row.mode == RunMode::Temporal {
            // The projector has not noticed yet.
            shown.status = RunStatus::Gone;
        }
        Ok(Some(shown))
    }

    /// Adds the runs that a list of the server's does not have, and keeps the latest.
    pub(super) async fn add_runs(
        &self,
        shared: &Shared,
        rows: &mut Vec<Row>,
        open: bool,
        limit: usize,
        may_see: impl Fn(&Row) -> bool,
    ) -> Result<(), ApiError> {
        let (Some(store), Some(filter)) = (&self.0, filter(shared)) else { return Ok(()) };
        let known: BTreeSet<String> = rows.iter().map(|row| row.id.clone()).collect();
        let mut listed = known.clone();
        let (mut before, mut scanned) = (None, 0);
        let mut added = 0;
        while added < limit && scanned < MAX_SCANNED {
            let page = store.runs_before(&filter, before.as_ref(), open, PAGE).await.map_err(ApiError::database)?;
            scanned += page.len();
            let is_last = page.len() < PAGE as usize;
            before = page.last().cloned();
            for row in &page {
                // Of runs with one id the latest is shown. A workflow that the server does not list
                // as open has ended, which the projector has not noticed yet.
                let is_listed = !listed.insert(row.id.clone()) || (open && row.mode == RunMode::Temporal);
                let shown = shown(row);
                if !is_listed && may_see(&shown) && added < limit {
                    rows.push(shown);
                    added += 1;
                }
            }
            if is_last {
                break;
            }
        }
        rows.sort_by_key(|row| std::cmp::Reverse(row.started()));
        rows.truncate(limit);
        Ok(())
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
            thread: run.thread().map(str::to_owned),
            labels: run.labels().clone(),
        }
    }

    /// Records that a run was started. The projector finds the row and fills it; without this, the
    /// row would come some seconds later. A failure is only logged: the run has been started.
    pub(super) async fn record_start(&self, shared: &Shared, run: DescribedRun, id: &str) {
        let (Some(store), Some(workflows)) = (&self.0, shared.runs.workflows()) else { return };
        let found = timeout(DESCRIBE_TIMEOUT, described(&workflows.client, id, None)).await;
        // A run of the mode "inprocess" has its row already, and is no workflow.
        let Ok(Ok(found)) = found else { return };
        let info = found.workflow_execution_info.unwrap_or_default();
        let execution = info.execution.unwrap_or_default().run_id;
        let first = Some(info.first_run_id).filter(|id| !id.is_empty()).unwrap_or_else(|| execution.clone());
        let mut row = run.into_row(workflows, first, id);
        row.execution = execution;
        if let Some(start) = info.start_time.and_then(|start| SystemTime::try_from(start).ok()) {
            row.started_at = millis(start);
        }
        let store = store.clone();
        if let Err(error) = SqlStore::finish(async move { store.insert_run(&row).await }).await {
            tracing::warn!(%error, id, "the row of a run cannot be written now; the projector writes it");
        }
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
        let Self { workflow_type, agent, thread, labels } = self;
        let mut row = RunRow::new(key, id, RunMode::Temporal);
        row.namespace = workflows.client.namespace();
        row.task_queue.clone_from(&workflows.task_queue);
        workflow_type.clone_into(&mut row.workflow_type);
        row.agent = agent;
        row.thread = thread;
        row.labels = labels;
        row
    }
}

/// Returns the workflows of this service; `None` if it has no Temporal client.
fn filter(shared: &Shared) -> Option<RunFilter> {
    let workflows = shared.runs.workflows()?;
    Some(RunFilter {
        namespace: workflows.client.namespace(),
        workflow_types: vec![AGENT_WORKFLOW.to_owned(), CHAT_WORKFLOW.to_owned()],
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

fn shown(row: &RunRow) -> Row {
    Row {
        id: row.id.clone(),
        kind: if row.workflow_type == CHAT_WORKFLOW { Kind::Chat } else { Kind::Run },
        agent: row.agent.clone(),
        thread: row.thread.clone(),
        status: row.status,
        execution: row.execution.clone(),
        mode: row.mode,
        is_idle: false,
        is_first_execution: row.execution == row.key,
        started_at: Some(rfc3339(row.started_at)),
        ended_at: row.ended_at.map(rfc3339),
        labels: row.labels.clone(),
        problem: None,
        described: None,
        reported: None,
        has_paused: false,
        questions: None,
        stored: Some(StoredResult { output: row.output.clone(), failure: row.failure.as_ref().map(innermost) }),
    }
}

/// Returns the message of the innermost cause, which names the problem.
fn innermost(failure: &RecordedFailure) -> String {
    let cause = std::iter::successors(Some(failure), |failure| failure.cause.as_deref()).last();
    cause.map(|cause| cause.message.clone()).unwrap_or_default()
}

impl Row {
    /// Returns the start, as a key to sort by.
    fn started(&self) -> Option<SystemTime> {
        let time: prost_types::Timestamp = self.started_at.as_deref()?.parse().ok()?;
        SystemTime::try_from(time).ok()
    }
}
