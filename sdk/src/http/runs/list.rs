//! Lists of runs, in pages.
//!
//! # Design
//! **A list is complete.** A page has up to its limit of runs that its caller may see and that match;
//! as long as there may be more, it has a cursor. A request looks at 10,000 runs at most, so a page
//! may have fewer runs than its limit, or none, and a cursor all the same.
//!
//! **Three sources, one list:** workflows of the server (`visibility.rs`), tasks of processes, and the
//! rows of workflows that the server does not have any more (`stored/`), which come last. A cursor is
//! a place in each of them.

use std::{cmp::Reverse, collections::VecDeque};

use axum::{
    Extension, Json,
    extract::{Query, State},
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use futures::{StreamExt, stream};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use temporal_agents_core::wire::{RunMode, RunStatus, run_place::RunPlace};

use super::{
    read::with_idleness,
    recorded::{Recorded, listed_questions},
    row::Row,
    visibility::{Wanted, WorkflowPlace, Workflows},
};
use crate::{
    client::{ProcessRow, ProcessRuns, TaskList},
    http::{
        access::Caller,
        error::ApiError,
        service::{Service, Shared},
    },
};

/// Runs in a page by default, and at most.
const DEFAULT_ROWS: usize = 50;
const MAX_ROWS: usize = 500;
/// Maximum number of runs that one request looks at.
const MAX_SCANNED: usize = 10_000;
/// Number of runs whose worker or history is asked at the same time.
const MAX_QUERIES: usize = 16;

/// The query of `GET /runs`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(in crate::http) struct ListQuery {
    /// Maximum number of runs: 50 by default, and at most 500.
    limit: Option<usize>,
    /// The `next` of the page before.
    after: Option<String>,
    /// Only runs that have not ended.
    #[serde(default)]
    open: bool,
    /// Only runs with this status.
    status: Option<RunStatus>,
    /// Only runs that began with this agent.
    agent: Option<String>,
    /// Only runs whose title contains this text, in upper or lower case.
    title: Option<String>,
}

/// A page of runs, latest first.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::http) struct RunList {
    runs: Vec<Row>,
    /// Cursor of the next page, which may have fewer runs than its limit; absent after the last run.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// `GET /runs`.
pub(in crate::http) async fn list(
    State(shared): Service,
    Extension(caller): Extension<Caller>,
    Query(ListQuery { limit, after, open, status, agent, title }): Query<ListQuery>,
) -> Result<Json<RunList>, ApiError> {
    if status == Some(RunStatus::Other) {
        return Err(ApiError::invalid("there is no such \"status\""));
    }
    let may_see = |id: &str| shared.access.may_see(&caller, id);
    let title = title.map(|title| title.to_lowercase());
    let filter = Filter { may_see: &may_see, open, waiting: false, status, agent, title };
    let place = after.map(|after| decoded(&after)).transpose()?.unwrap_or_default();
    let page = page(&shared, &filter, place, page_limit(limit, DEFAULT_ROWS));
    let Page { rows, next } = Box::pin(page).await?;
    let mut runs: Vec<Row> = stream::iter(rows)
        .map(|row| async { with_idleness(&shared, with_status(&shared, row).await).await })
        .buffered(MAX_QUERIES)
        .collect()
        .await;
    Box::pin(shared.mark(&mut runs)).await;
    Ok(Json(RunList { runs, next: next.as_ref().map(encoded) }))
}

/// Returns a row with its status, also if its record cannot be read.
async fn with_status(shared: &Shared, mut row: Row) -> Row {
    if let Recorded::Unreadable = row.recorded {
        match listed_questions(shared, &row).await {
            Ok(open) if open.questions.is_empty() => {}
            Ok(_) => row.status = RunStatus::Waiting,
            Err(_) => row.status = RunStatus::Other,
        }
    }
    row
}

/// Returns the latest open workflows that do not wait for people.
///
/// # Errors
/// 503 if the server refuses.
pub(in crate::http) async fn open_workflows(shared: &Shared) -> Result<Vec<Row>, ApiError> {
    let filter = Filter { may_see: &|_| true, open: true, waiting: false, status: None, agent: None, title: None };
    let Page { rows, next: _ } = page(shared, &filter, Place::default(), MAX_ROWS).await?;
    let is_at_work = |row: &Row| row.mode == RunMode::Temporal && !row.recorded.may_wait();
    Ok(rows.into_iter().filter(is_at_work).collect())
}

/// The runs that a list is about.
pub(in crate::http) struct Filter<'f> {
    /// Returns `true` for the ids of runs that the caller may see.
    pub(in crate::http) may_see: &'f (dyn Fn(&str) -> bool + Sync),
    pub(in crate::http) open: bool,
    /// Only runs that wait for people, or may.
    pub(in crate::http) waiting: bool,
    pub(in crate::http) status: Option<RunStatus>,
    pub(in crate::http) agent: Option<String>,
    /// In lower case.
    pub(in crate::http) title: Option<String>,
}

impl<'f> Filter<'f> {
    /// Returns the filter of runs that wait for people, or may.
    pub(in crate::http) fn waiting(may_see: &'f (dyn Fn(&str) -> bool + Sync)) -> Self {
        Self { may_see, open: true, waiting: true, status: None, agent: None, title: None }
    }

    fn has(&self, row: &Row) -> bool {
        (self.may_see)(&row.id)
            && (!self.open || row.is_open())
            && (!self.waiting || row.recorded.may_wait())
            && self.status.is_none_or(|status| status == row.status)
            && self.agent.as_ref().is_none_or(|agent| row.agent.as_ref() == Some(agent))
            && self.title.as_ref().is_none_or(|title| row.title.to_lowercase().contains(title))
    }

    /// Returns the workflows among which the runs are.
    fn wanted(&self) -> Wanted {
        match self.status {
            Some(status) if status.has_ended() => Wanted::Ended(status),
            Some(_) => Wanted::Open,
            None if self.open => Wanted::Open,
            None => Wanted::All,
        }
    }

    /// Returns `true` if only runs that have not ended match.
    pub(super) fn is_open(&self) -> bool {
        self.wanted() == Wanted::Open
    }
}

/// A place in a list of runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::http) struct Place {
    #[serde(default)]
    workflows: Part<WorkflowPlace>,
    #[serde(default)]
    tasks: Part<RunPlace>,
    #[serde(default)]
    stored: Part<RunPlace>,
}

/// A place in one of the sources.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Part<P> {
    After(P),
    End,
}

impl<P: Default> Default for Part<P> {
    fn default() -> Self {
        Self::After(P::default())
    }
}

/// A page of a list.
pub(in crate::http) struct Page {
    pub(in crate::http) rows: Vec<Row>,
    /// The place after the page; `None` after the last run.
    pub(in crate::http) next: Option<Place>,
}

/// Returns the runs after a place that match, at most this many.
///
/// # Errors
/// 503 if the server or a database refuses.
pub(in crate::http) async fn page(
    shared: &Shared,
    filter: &Filter<'_>,
    place: Place,
    limit: usize,
) -> Result<Page, ApiError> {
    let mut budget = MAX_SCANNED;
    let mut workflows = Source::new(place.workflows, |place| {
        let runs = shared.runs.workflows()?;
        Some(Workflows::new(runs, &shared.workflow_types, filter.wanted(), place, limit))
    });
    let mut tasks = Source::new(place.tasks, |place| {
        let runs = &**shared.runs.process()?;
        Some(Tasks { runs, filter, place, limit, read: VecDeque::new(), is_last: false })
    });
    // A workflow that only the database has waits for nobody.
    let mut stored =
        Source::new(place.stored, |place| shared.run_store.rows(shared, place, filter).filter(|_| !filter.waiting));
    let mut rows: Vec<Row> = Vec::new();
    let mut has_stored = false;
    loop {
        workflows.fill(filter, &mut budget).await?;
        tasks.fill(filter, &mut budget).await?;
        if workflows.is_over() && tasks.is_over() {
            stored.fill(filter, &mut budget).await?;
        }
        // One more run is read than the page has: it tells whether there is a next page.
        if rows.len() == limit || budget == 0 {
            break;
        }
        let row = match (&workflows.head, &tasks.head) {
            (Some(workflow), Some(task)) if workflow.started() < task.started() => tasks.take(),
            (Some(_), _) => workflows.take(),
            (None, Some(_)) => tasks.take(),
            (None, None) => {
                has_stored |= stored.head.is_some();
                stored.take()
            }
        };
        match row {
            Some(row) => rows.push(row),
            None => break,
        }
    }
    if has_stored {
        rows.sort_by_key(|row| Reverse(row.started()));
    }
    let is_over = workflows.is_over() && tasks.is_over() && stored.is_over();
    let next = Place { workflows: workflows.place, tasks: tasks.place, stored: stored.place };
    Ok(Page { rows, next: (!is_over).then_some(next) })
}

/// A reader of rows, latest first.
pub(super) trait Rows {
    type Place;

    /// Returns the next row; `None` after the last.
    async fn next(&mut self) -> Result<Option<Row>, ApiError>;

    /// Returns the place after the latest row.
    fn place(&self) -> Self::Place;
}

/// One of the sources of a list, with its next row.
struct Source<R: Rows> {
    /// `None` after the last row.
    rows: Option<R>,
    /// The place before the next row.
    place: Part<R::Place>,
    head: Option<Row>,
}

impl<R: Rows> Source<R>
where
    R::Place: Clone,
{
    fn new(place: Part<R::Place>, rows: impl FnOnce(R::Place) -> Option<R>) -> Self {
        let rows = match &place {
            Part::After(at) => rows(at.clone()),
            Part::End => None,
        };
        let place = if rows.is_some() { place } else { Part::End };
        Self { rows, place, head: None }
    }

    /// Reads the next row that matches, if the budget of rows that are looked at suffices.
    async fn fill(&mut self, filter: &Filter<'_>, budget: &mut usize) -> Result<(), ApiError> {
        while self.head.is_none()
            && *budget > 0
            && let Some(rows) = &mut self.rows
        {
            let Some(row) = rows.next().await? else {
                (self.rows, self.place) = (None, Part::End);
                break;
            };
            *budget -= 1;
            if filter.has(&row) {
                self.head = Some(row);
            } else {
                self.place = Part::After(rows.place());
            }
        }
        Ok(())
    }

    fn take(&mut self) -> Option<Row> {
        let row = self.head.take()?;
        if let Some(rows) = &self.rows {
            self.place = Part::After(rows.place());
        }
        Some(row)
    }

    /// Returns `true` after the last row.
    fn is_over(&self) -> bool {
        self.rows.is_none() && self.head.is_none()
    }
}

impl Rows for Workflows<'_> {
    type Place = WorkflowPlace;

    async fn next(&mut self) -> Result<Option<Row>, ApiError> {
        self.next().await
    }

    fn place(&self) -> WorkflowPlace {
        self.place().clone()
    }
}

/// A reader of the tasks of processes.
struct Tasks<'t> {
    runs: &'t dyn ProcessRuns,
    filter: &'t Filter<'t>,
    place: RunPlace,
    limit: usize,
    read: VecDeque<ProcessRow>,
    is_last: bool,
}

impl Rows for Tasks<'_> {
    type Place = RunPlace;

    async fn next(&mut self) -> Result<Option<Row>, ApiError> {
        if self.read.is_empty() && !self.is_last {
            let limit = self.limit + 1;
            let (open, waiting) = (self.filter.is_open(), self.filter.waiting);
            let agent = self.filter.agent.as_deref();
            let wanted = TaskList { open, waiting, agent, after: &self.place, limit };
            self.read = self.runs.list(wanted).await?.into();
            self.is_last = self.read.len() < limit;
        }
        let Some(row) = self.read.pop_front() else { return Ok(None) };
        self.place = row.place.clone();
        Ok(Some(Row::of_task(row)))
    }

    fn place(&self) -> RunPlace {
        self.place.clone()
    }
}

/// Returns the number of rows in a page.
pub(in crate::http) fn page_limit(wanted: Option<usize>, default: usize) -> usize {
    wanted.unwrap_or(default).clamp(1, MAX_ROWS)
}

/// Returns a place as a cursor.
pub(in crate::http) fn encoded(place: &impl Serialize) -> String {
    URL_SAFE_NO_PAD.encode(serde_json::to_vec(place).expect("places are JSON with string keys"))
}

/// Reads a cursor.
///
/// # Errors
/// 400.
pub(in crate::http) fn decoded<P: DeserializeOwned>(cursor: &str) -> Result<P, ApiError> {
    let json = URL_SAFE_NO_PAD.decode(cursor).ok();
    let place = json.and_then(|json| serde_json::from_slice(&json).ok());
    place.ok_or_else(|| ApiError::invalid("\"after\" is not the \"next\" of a page"))
}

#[cfg(test)]
mod tests;
