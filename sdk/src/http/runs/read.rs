//! Reads runs: lists, one with its result and questions, and its events.

use std::time::Duration;

use axum::{
    Extension, Json,
    extract::{Path, Query, State},
    http::HeaderMap,
    response::IntoResponse,
};
use futures::{StreamExt, TryStreamExt, stream};
use serde::Deserialize;
use serde_json::{Value, json};
use temporalio_client::{
    WorkflowDescribeOptions, WorkflowGetResultOptions, WorkflowListOptions, errors::WorkflowInteractionError,
};
use tokio::time::timeout;

use super::{
    row::{Kind, Row, StoredResult},
    stored::StoredEvents,
};
use crate::{
    client::{AgentHandle, ChatType, RunType, WorkflowRuns},
    http::{
        access::Caller,
        error::ApiError,
        service::{Service, Shared},
        sse,
    },
    wire::{
        AgentInterruption, RunStatus,
        ready_made::{AGENT_WORKFLOW, CHAT_WORKFLOW},
    },
};

/// Rows in a list by default, and at most.
const DEFAULT_ROWS: usize = 50;
const MAX_ROWS: usize = 500;
/// Number of runs that are looked at for one list.
const MAX_SCANNED: usize = 10_000;
/// Time in which a worker must answer the query for the state of a run.
const QUERY_TIMEOUT: Duration = Duration::from_secs(5);
/// Number of runs that are queried at the same time.
const MAX_QUERIES: usize = 16;

/// The query of `GET /runs`.
#[derive(Debug, Deserialize)]
pub(in crate::http) struct ListQuery {
    limit: Option<usize>,
    /// Only runs that have not ended.
    #[serde(default)]
    open: bool,
}

/// `GET /runs`.
pub(in crate::http) async fn list(
    State(shared): Service,
    Extension(caller): Extension<Caller>,
    Query(ListQuery { limit, open }): Query<ListQuery>,
) -> Result<Json<Value>, ApiError> {
    let limit = limit.unwrap_or(DEFAULT_ROWS).clamp(1, MAX_ROWS);
    let may_see = |row: &Row| shared.access.may_see(&caller, &row.id);
    let mut rows = rows(&shared, open, limit, may_see).await?;
    shared.run_store.add_runs(&shared, &mut rows, open, limit, may_see).await?;
    let rows: Vec<Row> = stream::iter(rows)
        .map(|row| with_state(&shared, row))
        .buffered(MAX_QUERIES)
        .map(|(row, _)| row)
        .collect()
        .await;
    Ok(Json(json!({"runs": rows})))
}

/// `GET /runs/{id}`.
pub(in crate::http) async fn read(
    State(shared): Service,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Json<Value>, ApiError> {
    let row = seen(&shared, &caller, &id).await?;
    let (row, questions) = with_state(&shared, row).await;
    let mut json = serde_json::to_value(&row).map_err(ApiError::server)?;
    if let Some(StoredResult { output, failure }) = row.stored {
        if let Some(output) = output {
            json["output"] = output;
        }
        if let Some(message) = failure {
            json["failure"] = json!({"message": message});
        }
        return Ok(Json(json));
    }
    match row.status {
        RunStatus::Completed | RunStatus::Failed => match result(&shared, &row).await {
            Ok(output) => json["output"] = output,
            Err(message) => json["failure"] = json!({"message": message}),
        },
        _ => json["questions"] = questions.iter().map(question).collect(),
    }
    Ok(Json(json))
}

/// The query of `GET /runs/{id}/events`.
#[derive(Debug, Deserialize)]
pub(in crate::http) struct EventsQuery {
    /// Cursor of the latest event that the reader has.
    from: Option<String>,
    /// `false` leaves out what closed histories do not contain.
    #[serde(default = "yes")]
    deltas: bool,
}

fn yes() -> bool {
    true
}

/// `GET /runs/{id}/events`: the events of a run, until the workflow ends.
pub(in crate::http) async fn events(
    State(shared): Service,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    Query(EventsQuery { from, deltas }): Query<EventsQuery>,
    headers: HeaderMap,
) -> Result<impl IntoResponse, ApiError> {
    let row = seen(&shared, &caller, &id).await?;
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok()).map(str::to_owned);
    let from = last.or(from).filter(|cursor| !cursor.is_empty());
    let stored = shared.run_store.events(&shared, &row, from.as_deref()).await?;
    let events = match stored {
        None => shared.watch(row.mode, &id, from, deltas)?.map_err(ApiError::from).boxed(),
        Some(StoredEvents { events, next: None }) => events,
        Some(StoredEvents { events, next: Some(next) }) => {
            events.chain(shared.watch(row.mode, &id, Some(next), deltas)?.map_err(ApiError::from)).boxed()
        }
    };
    // After an error the reader comes back with its cursor, so no end follows.
    let sent = stream::unfold((events, false), |(mut events, is_over)| async move {
        if is_over {
            return None;
        }
        let (event, is_over) = match events.next().await {
            Some(Ok(event)) => (sse::run_event(&event), false),
            Some(Err(error)) => (sse::failed(&error), true),
            None => (sse::data(&json!({})).event("end"), true),
        };
        Some((event, (events, is_over)))
    });
    Ok(sse::respond(sent))
}

/// Returns the runs that may wait for people and that the caller may see, with the calls that wait.
pub(in crate::http) async fn open_runs(
    shared: &Shared,
    caller: &Caller,
) -> Result<Vec<(Row, Vec<AgentInterruption>)>, ApiError> {
    let may_wait = |row: &Row| row.has_paused && shared.access.may_see(caller, &row.id);
    let rows = rows(shared, true, MAX_ROWS, may_wait).await?;
    Ok(stream::iter(rows).map(|row| with_state(shared, row)).buffered(MAX_QUERIES).collect().await)
}

/// Returns a run of this service that the caller may see.
///
/// # Errors
/// 404 for all others.
pub(in crate::http) async fn seen(shared: &Shared, caller: &Caller, id: &str) -> Result<Row, ApiError> {
    if !shared.access.may_see(caller, id) {
        return Err(ApiError::no_run(id));
    }
    match find(shared, id).await? {
        Found::Run(row) => Ok(*row),
        Found::Foreign => Err(ApiError::no_run(id)),
        Found::Nothing => shared.run_store.run(shared, id).await?.ok_or_else(|| ApiError::no_run(id)),
    }
}

/// The workflow with an id.
pub(in crate::http) enum Found {
    /// A run of this service.
    Run(Box<Row>),
    /// A workflow of another type, or on another task queue.
    Foreign,
    /// No workflow.
    Nothing,
}

/// Looks for the task or the workflow with this id.
///
/// # Errors
/// 502 if the server or the store refuses.
pub(in crate::http) async fn find(shared: &Shared, id: &str) -> Result<Found, ApiError> {
    if let Some(tasks) = shared.runs.process()
        && let Some(task) = tasks.find(id).await?
    {
        return Ok(Found::Run(Box::new(Row::of_task(task))));
    }
    let Some(workflows) = shared.runs.workflows() else { return Ok(Found::Nothing) };
    let handle = workflows.client.get_workflow_handle::<RunType>(id);
    let described = match handle.describe(WorkflowDescribeOptions::default()).await {
        Ok(described) => described,
        Err(WorkflowInteractionError::NotFound(_)) => return Ok(Found::Nothing),
        Err(error) => return Err(ApiError::server(error)),
    };
    let is_ours = [AGENT_WORKFLOW, CHAT_WORKFLOW].contains(&described.workflow_type())
        && described.task_queue() == workflows.task_queue;
    let info = described.raw().workflow_execution_info.as_ref().filter(|_| is_ours);
    Ok(info.map_or(Found::Foreign, |info| Found::Run(Box::new(Row::of_info(info, &described.memo())))))
}

/// Returns the latest runs that `is_kept` selects, among the latest [`MAX_SCANNED`].
async fn rows(shared: &Shared, open: bool, limit: usize, is_kept: impl Fn(&Row) -> bool) -> Result<Vec<Row>, ApiError> {
    let mut rows = match shared.runs.workflows() {
        Some(workflows) => workflow_rows(workflows, open, limit, &is_kept).await?,
        None => Vec::new(),
    };
    if let Some(tasks) = shared.runs.process() {
        let tasks = tasks.list(open, MAX_SCANNED).await?.into_iter().map(Row::of_task);
        rows.extend(tasks.filter(|row| is_kept(row)).take(limit));
        rows.sort_by(|one, other| other.started_at.cmp(&one.started_at));
        rows.truncate(limit);
    }
    Ok(rows)
}

/// Returns the latest workflows that `is_kept` selects, among the latest [`MAX_SCANNED`].
async fn workflow_rows(
    workflows: &WorkflowRuns,
    open: bool,
    limit: usize,
    is_kept: impl Fn(&Row) -> bool,
) -> Result<Vec<Row>, ApiError> {
    let queue = workflows.task_queue.replace('\\', "\\\\").replace('\'', "\\'");
    let mut query = format!("WorkflowType IN ('{AGENT_WORKFLOW}', '{CHAT_WORKFLOW}') AND TaskQueue = '{queue}'");
    query.push_str(if open {
        " AND ExecutionStatus = 'Running'"
    } else {
        // Executions that were followed by another are no runs of their own.
        " AND ExecutionStatus != 'ContinuedAsNew'"
    });
    let options = WorkflowListOptions::builder().limit(MAX_SCANNED).build();
    let mut found = workflows.client.list_workflows(query, options);
    let mut rows = Vec::new();
    while let Some(workflow) = found.next().await {
        let row = Row::of(&workflow.map_err(ApiError::server)?);
        if is_kept(&row) {
            rows.push(row);
        }
        if rows.len() == limit {
            break;
        }
    }
    Ok(rows)
}

/// Adds to a row whether the run waits, and returns the calls that do.
async fn with_state(shared: &Shared, mut row: Row) -> (Row, Vec<AgentInterruption>) {
    if let Some(questions) = row.questions.take() {
        return (row, questions);
    }
    if !row.is_open() || !row.has_paused {
        return (row, Vec::new());
    }
    let Ok(workflows) = shared.workflows() else { return (row, Vec::new()) };
    let handle = AgentHandle::new(&workflows.client, &*row.id);
    let Ok(Ok(state)) = timeout(QUERY_TIMEOUT, handle.state()).await else { return (row, Vec::new()) };
    if !state.interruptions.is_empty() {
        row.status = RunStatus::Waiting;
    }
    (row, state.interruptions)
}

/// Returns the result of a run that has ended, or the message of its failure.
async fn result(shared: &Shared, row: &Row) -> Result<Value, String> {
    let client = &shared.workflows().map_err(|error| error.message().to_owned())?.client;
    let options = WorkflowGetResultOptions::default();
    let ended = match row.kind {
        Kind::Run => client.get_workflow_handle::<RunType>(&*row.id).get_result(options).await,
        Kind::Chat => client.get_workflow_handle::<ChatType>(&*row.id).get_result(options).await,
    };
    ended.map_err(|error| {
        // The innermost cause names the problem.
        let error: &dyn std::error::Error = &error;
        std::iter::successors(Some(error), |error| error.source()).last().map_or_else(String::new, ToString::to_string)
    })
}

/// Returns a call that waits, as the API shows it.
pub(in crate::http) fn question(call: &AgentInterruption) -> Value {
    let mut json = json!({
        "question_id": call.id,
        "agent": call.agent,
        "tool": call.tool,
        "arguments": call.arguments,
        "waits_for": call.kind,
    });
    if let Some(question) = &call.question {
        json["question"] = json!({"message": question.message, "schema": question.schema});
    }
    json
}
