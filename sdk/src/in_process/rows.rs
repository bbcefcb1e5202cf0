//! The rows of tasks: read by any process, written by the owner (`writer.rs`) and by who takes a
//! task over.

use std::{
    collections::BTreeMap,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde_json::Value;
use sqlx::{Any, Row as _, Transaction, any::AnyRow};

use crate::{
    client::ProcessRow,
    events::rfc3339,
    store::{SqlStore, SqlStoreError, sql::text::indexed},
    wire::{AgentState, RunEvent, RunStatus},
    workflow::AgentInbox,
};

/// The columns of a task, for [`Task::of`].
const COLUMNS: &str = "task_key, id, execution, is_chat, agent, labels, request, owner, status, started_at, ended_at, \
                       outcome, state, inbox, chat, paused, events";

/// The columns of a task in a list: without those that may be large and that a list does not show.
const SHORT: &str = "task_key, id, execution, is_chat, agent, labels, '' AS request, owner, status, started_at, \
                     ended_at, CAST(NULL AS TEXT) AS outcome, state, CAST(NULL AS TEXT) AS inbox, CAST(NULL AS TEXT) \
                     AS chat, CAST(NULL AS TEXT) AS paused, events";

/// A task as the store has it.
#[derive(Clone, Debug)]
pub(super) struct Task {
    pub(super) key: String,
    pub(super) id: String,
    pub(super) execution: String,
    pub(super) is_chat: bool,
    pub(super) agent: String,
    pub(super) labels: BTreeMap<String, String>,
    /// The request with which it was started, as JSON.
    pub(super) request: String,
    /// The process that runs it; empty for none.
    pub(super) owner: String,
    pub(super) status: RunStatus,
    started_at: i64,
    ended_at: Option<i64>,
    outcome: Option<Value>,
    pub(super) state: Option<AgentState>,
    pub(super) inbox: Option<Value>,
    /// The data of a chat.
    pub(super) chat: Option<Value>,
    /// The run, while it waits for decisions.
    pub(super) paused: Option<Value>,
    /// Number of its events.
    pub(super) events: i64,
}

impl Task {
    /// Creates the row of a task that this process starts.
    pub(super) fn new(id: &str, is_chat: bool, agent: String, request: String, owner: &str) -> Self {
        Self {
            key: key_of(id),
            id: id.to_owned(),
            execution: uuid::Uuid::new_v4().simple().to_string(),
            is_chat,
            agent,
            labels: BTreeMap::new(),
            request,
            owner: owner.to_owned(),
            status: RunStatus::Running,
            started_at: now(),
            ended_at: None,
            outcome: None,
            state: None,
            inbox: None,
            chat: None,
            paused: None,
            events: 0,
        }
    }

    fn of(row: &AnyRow) -> Result<Self, SqlStoreError> {
        let text = |name: &str| row.try_get::<Option<String>, _>(name);
        let json = |name: &str| text(name).map(|text| text.and_then(|text| serde_json::from_str(&text).ok()));
        Ok(Self {
            key: row.try_get("task_key")?,
            // Ids are JSON, because a database may refuse some of their characters.
            id: serde_json::from_str(row.try_get("id")?)?,
            execution: row.try_get("execution")?,
            is_chat: row.try_get::<i64, _>("is_chat")? != 0,
            agent: serde_json::from_str(row.try_get("agent")?)?,
            labels: serde_json::from_str(row.try_get("labels")?)?,
            request: row.try_get("request")?,
            owner: row.try_get("owner")?,
            status: serde_json::from_value(Value::String(row.try_get("status")?))?,
            started_at: row.try_get("started_at")?,
            ended_at: row.try_get("ended_at")?,
            outcome: json("outcome")?,
            state: text("state")?.and_then(|state| serde_json::from_str(&state).ok()),
            inbox: json("inbox")?,
            chat: json("chat")?,
            paused: json("paused")?,
            events: row.try_get("events")?,
        })
    }

    /// Returns the state of the task's runs.
    pub(super) fn agent_state(self) -> AgentState {
        self.state.unwrap_or_else(|| AgentInbox::default().state())
    }

    /// Returns the task as clients see it.
    pub(super) fn shown(self) -> ProcessRow {
        let outcome = self.outcome.map(|mut outcome| match outcome.get_mut("failure").map(Value::take) {
            Some(failure) => Err(failure.as_str().unwrap_or_default().to_owned()),
            None => Ok(outcome.get_mut("output").map(Value::take).unwrap_or_default()),
        });
        ProcessRow {
            id: self.id,
            is_chat: self.is_chat,
            agent: Some(self.agent).filter(|agent| !agent.is_empty()),
            status: self.status,
            execution: self.execution,
            started_at: time_of(self.started_at),
            ended_at: self.ended_at.map(time_of),
            labels: self.labels,
            questions: self.state.map(|state| state.interruptions).unwrap_or_default(),
            outcome,
        }
    }
}

/// Returns the key of the task with this id.
pub(super) fn key_of(id: &str) -> String {
    indexed(id).into_owned()
}

/// Returns the JSON of a value whose keys are strings.
pub(super) fn json_of(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("values of tasks are JSON with string keys")
}

/// Returns the name of a status, as rows have it.
pub(super) fn name_of(status: RunStatus) -> String {
    serde_json::to_value(status).ok().and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default()
}

/// Returns the milliseconds since 1970.
pub(super) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

fn time_of(millis: i64) -> String {
    rfc3339(UNIX_EPOCH + Duration::from_millis(u64::try_from(millis).unwrap_or_default()))
}

/// Adds a task; returns `false` if there is one with this id.
pub(super) async fn insert(store: &SqlStore, task: &Task) -> Result<bool, SqlStoreError> {
    let statement = "INSERT INTO agents_tasks (task_key, id, execution, is_chat, agent, labels, request, owner, status, \
                     started_at, events, mail) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0, 0) \
                     ON CONFLICT (task_key) DO NOTHING";
    let inserted = sqlx::query(statement)
        .bind(&*task.key)
        .bind(json_of(&task.id))
        .bind(&*task.execution)
        .bind(i64::from(task.is_chat))
        .bind(json_of(&task.agent))
        .bind(json_of(&task.labels))
        .bind(&*task.request)
        .bind(&*task.owner)
        .bind(name_of(task.status))
        .bind(task.started_at)
        .execute(store.pool())
        .await?;
    Ok(inserted.rows_affected() > 0)
}

/// Returns the task with this key.
pub(super) async fn find(store: &SqlStore, key: &str) -> Result<Option<Task>, SqlStoreError> {
    let statement = format!("SELECT {COLUMNS} FROM agents_tasks WHERE task_key = $1");
    let row = sqlx::query(&statement).bind(key).fetch_optional(store.pool()).await?;
    row.as_ref().map(Task::of).transpose()
}

/// Returns the latest tasks.
pub(super) async fn list(store: &SqlStore, open: bool, limit: usize) -> Result<Vec<Task>, SqlStoreError> {
    let open = if open { "WHERE ended_at IS NULL" } else { "" };
    let statement = format!("SELECT {SHORT} FROM agents_tasks {open} ORDER BY started_at DESC, task_key LIMIT $1");
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = sqlx::query(&statement).bind(limit).fetch_all(store.pool()).await?;
    rows.iter().map(Task::of).collect()
}

/// Returns the tasks that have not ended and that another process owns: its id, and their keys.
pub(super) async fn owned_by_others(store: &SqlStore, own: &str) -> Result<Vec<(String, String)>, SqlStoreError> {
    let statement = "SELECT owner, task_key FROM agents_tasks WHERE ended_at IS NULL AND owner <> '' AND owner <> $1";
    let rows = sqlx::query(statement).bind(own).fetch_all(store.pool()).await?;
    rows.iter().map(|row| Ok((row.try_get("owner")?, row.try_get("task_key")?))).collect()
}

/// Makes this process the owner of a task that `from` owns. Returns the task, or `None` if it has
/// another owner by now, or has ended.
pub(super) async fn claim(store: &SqlStore, key: &str, from: &str, own: &str) -> Result<Option<Task>, SqlStoreError> {
    let statement = "UPDATE agents_tasks SET owner = $1 WHERE task_key = $2 AND owner = $3 AND ended_at IS NULL";
    let claimed = sqlx::query(statement).bind(own).bind(key).bind(from).execute(store.pool()).await?;
    if claimed.rows_affected() == 0 { Ok(None) } else { find(store, key).await }
}

/// Returns an event after this number, and its number.
pub(super) async fn events_after(
    store: &SqlStore,
    key: &str,
    after: i64,
    limit: i64,
) -> Result<Vec<(i64, RunEvent)>, SqlStoreError> {
    let statement = "SELECT number, event FROM agents_task_events WHERE task_key = $1 AND number > $2 ORDER BY number \
                     LIMIT $3";
    let rows = sqlx::query(statement).bind(key).bind(after).bind(limit).fetch_all(store.pool()).await?;
    let event = |row: &AnyRow| Ok((row.try_get("number")?, serde_json::from_str(row.try_get("event")?)?));
    rows.iter().map(event).collect()
}

/// Returns `true` if the task has ended, and has no event after this number.
pub(super) async fn has_ended(store: &SqlStore, key: &str, number: i64) -> Result<bool, SqlStoreError> {
    let statement = "SELECT task_key FROM agents_tasks WHERE task_key = $1 AND ended_at IS NOT NULL AND events <= $2";
    Ok(sqlx::query(statement).bind(key).bind(number).fetch_optional(store.pool()).await?.is_some())
}

/// Returns the latest fact of an outermost run in a task that has such a fact.
pub(super) async fn latest_of_root(store: &SqlStore, key: &str) -> Result<Option<RunEvent>, SqlStoreError> {
    let mut before = i64::MAX;
    loop {
        let statement = "SELECT number, event FROM agents_task_events WHERE task_key = $1 AND number < $2 ORDER BY \
                         number DESC LIMIT 100";
        let rows = sqlx::query(statement).bind(key).bind(before).fetch_all(store.pool()).await?;
        for row in &rows {
            before = row.try_get("number")?;
            let event: RunEvent = serde_json::from_str(row.try_get("event")?)?;
            if event.path.is_empty() && !event.run.is_empty() {
                return Ok(Some(event));
            }
        }
        if rows.is_empty() {
            return Ok(None);
        }
    }
}

/// Adds an event as the next one after `number`; returns `false` if the task has it already.
pub(super) async fn add_event(
    transaction: &mut Transaction<'static, Any>,
    key: &str,
    number: i64,
    event: &RunEvent,
) -> Result<bool, SqlStoreError> {
    let statement = "INSERT INTO agents_task_events (task_key, number, event_key, event) VALUES ($1, $2, $3, $4) ON \
                     CONFLICT (task_key, event_key) DO NOTHING";
    let added = sqlx::query(statement)
        .bind(key)
        .bind(number)
        .bind(indexed(&event.id).into_owned())
        .bind(json_of(event))
        .execute(&mut **transaction)
        .await?;
    Ok(added.rows_affected() > 0)
}
