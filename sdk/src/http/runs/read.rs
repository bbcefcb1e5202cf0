//! Reads runs: lists, one with its result and questions, and its events.

use std::{convert::Infallible, time::Duration};

use axum::{
    Extension, Json,
    extract::{FromRequestParts, Path, Query, State},
    http::request::Parts,
};
use futures::{
    StreamExt, TryStreamExt,
    stream::{self, BoxStream},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use temporalio_client::{
    WorkflowDescribeOptions, WorkflowGetResultOptions, WorkflowListOptions, errors::WorkflowInteractionError,
};
use tokio::time::{Instant, timeout};

use super::{
    asked::AskedInHistory,
    row::{Kind, Row, StoredResult},
    stored::StoredEvents,
};
use crate::{
    client::{AgentHandle, ChatType, RunEventsError, RunType, WorkflowRuns},
    http::{
        access::Caller,
        error::ApiError,
        problems::{Followed, FollowedItem},
        questions::Question,
        service::{Service, Shared},
        sse::{self, EventStream},
    },
    wire::{
        AgentInterruption, RunEvent, RunMode, RunStatus,
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
/// Time in which the history of a run that waits must be read.
const HISTORY_TIMEOUT: Duration = Duration::from_secs(20);
/// Time without a fact after which a history is read to its present end.
pub(super) const QUIET: Duration = Duration::from_secs(2);
/// Number of runs that are queried at the same time.
const MAX_QUERIES: usize = 16;

/// The query of `GET /runs`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(in crate::http) struct ListQuery {
    /// Maximum number of runs: 50 by default, and at most 500.
    limit: Option<usize>,
    /// Only runs that have not ended.
    #[serde(default)]
    open: bool,
}

/// The runs, latest first.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::http) struct RunList {
    runs: Vec<Row>,
}

/// A run with its result, or with the calls that wait.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::http) struct RunDetail {
    #[serde(flatten)]
    row: Row,
    /// The input of a run that no worker has begun, or that has ended without an output.
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<Value>,
    /// The output of a run that has completed.
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<Value>,
    /// The failure of a run that has failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<FailureBody>,
    /// The calls that wait; absent for a run that has an output or has failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    questions: Option<Vec<Question>>,
}

/// A failure.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::http) struct FailureBody {
    message: String,
}

/// `GET /runs`.
pub(in crate::http) async fn list(
    State(shared): Service,
    Extension(caller): Extension<Caller>,
    Query(ListQuery { limit, open }): Query<ListQuery>,
) -> Result<Json<RunList>, ApiError> {
    let limit = limit.unwrap_or(DEFAULT_ROWS).clamp(1, MAX_ROWS);
    let may_see = |row: &Row| shared.access.may_see(&caller, &row.id);
    let mut rows = rows(&shared, open, limit, may_see).await?;
    shared.run_store.add_runs(&shared, &mut rows, open, limit, may_see).await?;
    let mut runs: Vec<Row> = stream::iter(rows)
        .map(|row| async {
            let (row, _) = with_state(&shared, row).await;
            with_idleness(&shared, row).await
        })
        .buffered(MAX_QUERIES)
        .collect()
        .await;
    Box::pin(shared.mark(&mut runs)).await;
    Ok(Json(RunList { runs }))
}

/// `GET /runs/{id}`.
pub(in crate::http) async fn read(
    State(shared): Service,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Json<RunDetail>, ApiError> {
    let row = seen(&shared, &caller, &id).await?;
    let described = row.described.clone();
    let problem = async {
        match &described {
            Some(described) => shared.problem_of(described).await,
            None => None,
        }
    };
    let (read, problem) = futures::join!(Box::pin(with_questions(&shared, row)), Box::pin(problem));
    let (row, questions) = read?;
    let mut row = with_idleness(&shared, row).await;
    row.problem = problem.filter(|_| row.is_open());
    if let Some(StoredResult { output, failure }) = row.stored.take() {
        let failure = failure.map(|message| FailureBody { message });
        return Ok(Json(RunDetail { row, input: None, output, failure, questions: None }));
    }
    let (mut output, mut failure, mut open) = (None, None, None);
    match row.status {
        RunStatus::Completed | RunStatus::Failed => match result(&shared, &row).await {
            Ok(value) => output = Some(value),
            Err(message) => failure = Some(FailureBody { message }),
        },
        _ => open = Some(questions.iter().map(Question::of).collect()),
    }
    let input = input(&shared, &row).await;
    Ok(Json(RunDetail { row, input, output, failure, questions: open }))
}

/// The query of `GET /runs/{id}/events`.
#[derive(Debug, Deserialize, JsonSchema)]
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

/// The header `Last-Event-ID`: the cursor with which a reader comes back.
#[derive(Debug)]
pub(in crate::http) struct LastEventId(Option<String>);

impl<S: Sync> FromRequestParts<S> for LastEventId {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        let header = parts.headers.get("last-event-id").and_then(|id| id.to_str().ok());
        Ok(Self(header.map(str::to_owned)))
    }
}

/// `GET /runs/{id}/events`: the events of a run, until the workflow ends.
pub(in crate::http) async fn events(
    State(shared): Service,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    Query(EventsQuery { from, deltas }): Query<EventsQuery>,
    LastEventId(last): LastEventId,
) -> Result<EventStream<RunEvent>, ApiError> {
    let row = seen(&shared, &caller, &id).await?;
    let from = last.or(from).filter(|cursor| !cursor.is_empty());
    let events = events_of(&shared, &row, from, deltas).await?;
    let followed = Followed::new(&shared, (row.mode, &row.id), events);
    // After an error the reader comes back with its cursor, so no end follows.
    let sent = stream::unfold((followed, false), |(mut followed, is_over)| async move {
        if is_over {
            return None;
        }
        let (event, is_over) = match followed.next().await {
            Some(FollowedItem::Event(Ok(event))) => (sse::run_event(&event), false),
            Some(FollowedItem::Event(Err(error))) => (sse::failed(&error), true),
            Some(FollowedItem::Problem(problem)) => {
                (sse::sent(sse::data(&json!({"problem": problem})).event("problem")), false)
            }
            None => (sse::sent(sse::data(&json!({})).event("end")), true),
        };
        Some((event, (followed, is_over)))
    });
    Ok(EventStream::new(&shared.streams, sent, sse::cut))
}

/// Returns the events of a run after this cursor, until it ends: from the database as far as only
/// it has them.
///
/// # Errors
/// 503 if the server or the database refuses.
pub(super) async fn events_of(
    shared: &Shared,
    row: &Row,
    from: Option<String>,
    deltas: bool,
) -> Result<BoxStream<'static, Result<RunEvent, ApiError>>, ApiError> {
    Ok(match shared.run_store.events(shared, row, from.as_deref()).await? {
        None => shared.watch(row.mode, &row.id, from, deltas)?.map_err(ApiError::from).boxed(),
        Some(StoredEvents { events, next: None }) => events,
        Some(StoredEvents { events, next: Some(next) }) => {
            events.chain(shared.watch(row.mode, &row.id, Some(next), deltas)?.map_err(ApiError::from)).boxed()
        }
    })
}

/// A run that may wait for people, with the calls that wait, or the reason why it cannot be read.
pub(in crate::http) struct OpenRun {
    pub(in crate::http) id: String,
    /// Id of the latest execution (Temporal's run id).
    pub(in crate::http) execution: String,
    pub(in crate::http) calls: Result<Vec<AgentInterruption>, ApiError>,
}

/// Returns the runs that may wait for people, of those that `may_see` selects by id.
///
/// # Errors
/// 503 if the server or the store refuses.
pub(in crate::http) async fn open_runs(
    shared: &Shared,
    may_see: impl Fn(&str) -> bool,
) -> Result<Vec<OpenRun>, ApiError> {
    let rows = rows(shared, true, MAX_ROWS, |row| row.has_paused && may_see(&row.id)).await?;
    let read = |row: Row| async move {
        let id = row.id.clone();
        let execution = row.execution.clone();
        let calls = with_questions(shared, row).await.map(|(_, calls)| calls);
        OpenRun { id, execution, calls }
    };
    Ok(stream::iter(rows).map(read).buffered(MAX_QUERIES).collect().await)
}

/// Returns the latest open workflows that do not wait for people.
///
/// # Errors
/// 502 if the server refuses.
pub(in crate::http) async fn open_workflows(shared: &Shared) -> Result<Vec<Row>, ApiError> {
    workflow_rows(shared.workflows()?, true, MAX_ROWS, |row| !row.has_paused).await
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
/// 503 if the server or the store refuses.
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
    let row = is_ours.then(|| Row::of_description(described)).flatten();
    Ok(row.map_or(Found::Foreign, |row| Found::Run(Box::new(row))))
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

/// Adds to a row whether the run waits, and returns the calls that do; `None` if no worker has
/// answered.
async fn with_state(shared: &Shared, mut row: Row) -> (Row, Option<Vec<AgentInterruption>>) {
    if let Some(questions) = row.questions.take() {
        return (row, Some(questions));
    }
    if !row.is_open() || !row.has_paused {
        return (row, Some(Vec::new()));
    }
    let Ok(workflows) = shared.workflows() else { return (row, None) };
    let handle = AgentHandle::new(&workflows.client, &*row.id);
    let Ok(Ok(state)) = timeout(QUERY_TIMEOUT, handle.state()).await else { return (row, None) };
    if !state.interruptions.is_empty() {
        row.status = RunStatus::Waiting;
    }
    (row, Some(state.interruptions))
}

/// Adds to the row of a chat whether it waits for a message. No worker is needed for that: a chat
/// that answers one has an activity, a child or a workflow task that is pending.
async fn with_idleness(shared: &Shared, mut row: Row) -> Row {
    if !row.is_chat() || row.status != RunStatus::Running || row.has_paused {
        return row;
    }
    row.is_idle = match (row.mode, shared.runs.process(), shared.runs.workflows()) {
        (RunMode::InProcess, Some(tasks), _) => {
            let state = tasks.state(&row.id).await.ok().flatten();
            state.is_some_and(|state| state.status.has_ended() || state.status == RunStatus::Queued)
        }
        (RunMode::Temporal, _, Some(workflows)) => {
            let handle = workflows.client.get_workflow_handle::<RunType>(&*row.id);
            let described = handle.describe(WorkflowDescribeOptions::default()).await;
            described.is_ok_and(|described| {
                let raw = described.raw();
                raw.pending_workflow_task.is_none()
                    && raw.pending_activities.is_empty()
                    && raw.pending_children.is_empty()
                    && raw.pending_nexus_operations.is_empty()
            })
        }
        _ => false,
    };
    row
}

/// Returns the row with its status, and the calls that wait. Reads them from history if no worker
/// answers.
///
/// # Errors
/// 503 if the history cannot be read.
async fn with_questions(shared: &Shared, row: Row) -> Result<(Row, Vec<AgentInterruption>), ApiError> {
    let (mut row, questions) = with_state(shared, row).await;
    let questions = match questions {
        Some(questions) => questions,
        None => asked_in_history(shared, &row).await?,
    };
    if !questions.is_empty() && row.is_open() {
        row.status = RunStatus::Waiting;
    }
    Ok((row, questions))
}

/// Returns the calls that wait according to the history, for a run whose worker does not answer.
/// Their arguments may be cut.
async fn asked_in_history(shared: &Shared, row: &Row) -> Result<Vec<AgentInterruption>, ApiError> {
    let mut events = shared.watch(row.mode, &row.id, None, false)?;
    let mut asked = AskedInHistory::default();
    let deadline = Instant::now() + HISTORY_TIMEOUT;
    // The history is read to its present end when no further fact comes at once.
    while let Ok(Some(event)) = timeout(QUIET, events.next()).await {
        if Instant::now() > deadline {
            // Facts keep coming: a worker is at work.
            return Err(ApiError::no_worker());
        }
        match event {
            Ok(event) => asked.observe(&event),
            // The run has ended, and is deleted.
            Err(RunEventsError::NotFound { .. }) => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(asked.open())
}

/// Returns the input of a run whose events may not have it, because it has ended before its first
/// turn or has not begun; `None` if it cannot be read.
async fn input(shared: &Shared, row: &Row) -> Option<Value> {
    let is_wanted = match row.status {
        RunStatus::Queued | RunStatus::Failed | RunStatus::Cancelled | RunStatus::Terminated | RunStatus::TimedOut => {
            row.kind == Kind::Run && row.is_first_execution && row.mode == RunMode::Temporal
        }
        _ => false,
    };
    let events = shared.events.as_ref().filter(|_| is_wanted)?;
    let mut start = events.start_input(&row.id, &row.execution).await.ok()?;
    start.get_mut("input").map(Value::take)
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
