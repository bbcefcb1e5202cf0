//! Reads a run: with its result and questions, and its events.

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
use temporal_agents_core::wire::{RunEvent, RunMode, RunStatus};
use temporalio_client::{
    WorkflowDescribeOptions, WorkflowExecutionDescription, WorkflowGetResultOptions, errors::WorkflowInteractionError,
};
use tokio::time::timeout;

use super::{
    recorded::{OpenQuestions, all_questions},
    row::{Kind, Row, StoredResult},
    stored::StoredEvents,
};
use crate::{
    client::{ChatType, RunType},
    http::{
        access::Caller,
        error::ApiError,
        problems::{Followed, FollowedItem},
        questions::Question,
        service::{Service, Shared},
        sse::{self, EventStream},
    },
};

/// Time without a fact after which a history is read to its present end.
pub(super) const QUIET: Duration = Duration::from_secs(2);
/// Time in which the server must describe a chat of a list.
const DESCRIBE_TIMEOUT: Duration = Duration::from_secs(5);

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
    /// `true` if more calls wait: a worker must answer for them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    has_more_questions: bool,
}

/// A failure.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::http) struct FailureBody {
    message: String,
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
    let (read, problem) = futures::join!(Box::pin(all_questions(&shared, &row)), Box::pin(problem));
    let OpenQuestions { questions, has_more } = read?;
    let mut row = with_idleness(&shared, row).await;
    row.problem = problem.filter(|_| row.is_open());
    if row.is_open() && (has_more || !questions.is_empty()) {
        row.status = RunStatus::Waiting;
    }
    let mut detail =
        RunDetail { row, input: None, output: None, failure: None, questions: None, has_more_questions: has_more };
    if let Some(StoredResult { output, failure }) = detail.row.stored.take() {
        detail.output = output;
        detail.failure = failure.map(|message| FailureBody { message });
        return Ok(Json(detail));
    }
    match detail.row.status {
        RunStatus::Completed | RunStatus::Failed => match result(&shared, &detail.row).await {
            Ok(value) => detail.output = Some(value),
            Err(message) => detail.failure = Some(FailureBody { message }),
        },
        _ => detail.questions = Some(questions),
    }
    detail.input = input(&shared, &detail.row).await;
    Ok(Json(detail))
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
            Some(FollowedItem::Event(event)) => match *event {
                Ok(event) => (sse::run_event(&event), false),
                Err(error) => (sse::failed(&error), true),
            },
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
    let is_ours = shared.workflow_types.iter().any(|name| name == described.workflow_type())
        && described.task_queue() == workflows.task_queue;
    let row = is_ours.then(|| Row::of_description(described)).flatten();
    Ok(row.map_or(Found::Foreign, |row| Found::Run(Box::new(row))))
}

/// Adds to the row of a chat whether it waits for a message. No worker is needed for that: a chat
/// that answers one has an activity, a child or a workflow task that is pending.
pub(super) async fn with_idleness(shared: &Shared, mut row: Row) -> Row {
    let may_be_idle = row.is_chat() && row.status == RunStatus::Running && !row.recorded.may_wait();
    if !may_be_idle || row.mode == RunMode::InProcess {
        return row;
    }
    if let Some(described) = &row.described {
        row.is_idle = has_no_work(described);
    } else if let Some(workflows) = shared.runs.workflows() {
        let handle = workflows.client.get_workflow_handle::<RunType>(&*row.id);
        let described = timeout(DESCRIBE_TIMEOUT, handle.describe(WorkflowDescribeOptions::default())).await;
        row.is_idle = matches!(described, Ok(Ok(described)) if has_no_work(&described));
    }
    row
}

/// Returns `true` if the server waits for nothing that continues the workflow.
fn has_no_work(described: &WorkflowExecutionDescription) -> bool {
    let raw = described.raw();
    raw.pending_workflow_task.is_none()
        && raw.pending_activities.is_empty()
        && raw.pending_children.is_empty()
        && raw.pending_nexus_operations.is_empty()
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
        Kind::Run | Kind::Workflow => client.get_workflow_handle::<RunType>(&*row.id).get_result(options).await,
        Kind::Chat => client.get_workflow_handle::<ChatType>(&*row.id).get_result(options).await,
    };
    ended.map_err(|error| {
        // The innermost cause names the problem.
        let error: &dyn std::error::Error = &error;
        std::iter::successors(Some(error), |error| error.source()).last().map_or_else(String::new, ToString::to_string)
    })
}
