//! The rows of tasks: read by any process, written by the owner (`writer.rs`) and by who takes a
//! task over.
//!
//! A task has a row in `agents_runs` and its facts in `agents_run_events`, like a run that is a
//! workflow, and in `agents_tasks` what it needs to run.

use serde_json::Value;
use sqlx::{Row as _, any::AnyRow};
use temporal_agents_core::wire::{
    AgentState, RunEvent, RunMode, RunStatus,
    asked_questions::AskedQuestions,
    ready_made::{AGENT_WORKFLOW, CHAT_WORKFLOW},
};
use uuid::Uuid;

use super::mail::{self, MailAnswer};
use crate::{
    client::{ProcessRow, TaskList, TaskQuestions},
    store::{
        SqlStore, SqlStoreError,
        sql::{
            Transaction,
            runs::{COLUMNS, LISTED, ListedRun, RunRow, insert as insert_run, rfc3339},
            text::{indexed, storable},
        },
    },
    workflow::AgentInbox,
};

/// The tables of tasks, with their rows of runs.
const TASKS: &str = "agents_tasks JOIN agents_runs ON run_key = run";
/// Number of events that are looked at together.
const PAGE: i64 = 100;

/// A task as the store has it.
#[derive(Clone, Debug)]
pub(super) struct Task {
    pub(super) key: String,
    pub(super) run: RunRow,
    /// The process that runs it; empty for none.
    pub(super) owner: String,
    /// `false` if no effect of the task has been made: then it may begin anew.
    pub(super) has_begun: bool,
    /// The request with which it was started, as JSON.
    pub(super) request: String,
    pub(super) state: Option<AgentState>,
    pub(super) inbox: Option<Value>,
    /// The data of a chat.
    pub(super) chat: Option<Value>,
    /// The run, while it waits for decisions.
    pub(super) paused: Option<Value>,
    /// The record of its agents, as JSON, if they are data and were loaded.
    pub(super) specs: Option<String>,
}

impl Task {
    /// Returns the row of a task that this process starts.
    pub(super) fn new(id: &str, is_chat: bool, request: String, owner: &str) -> Self {
        let mut run = RunRow::new(Uuid::new_v4().simple().to_string(), id, RunMode::InProcess);
        run.workflow_type = String::from(if is_chat { CHAT_WORKFLOW } else { AGENT_WORKFLOW });
        // A run waits for its place; a chat for messages.
        run.status = if is_chat { RunStatus::Running } else { RunStatus::Queued };
        Self {
            key: key_of(id),
            run,
            owner: owner.to_owned(),
            has_begun: false,
            request,
            state: None,
            inbox: None,
            chat: None,
            paused: None,
            specs: None,
        }
    }

    fn of(row: &AnyRow) -> Result<Self, SqlStoreError> {
        let text = |name: &str| row.try_get::<Option<String>, _>(name);
        let json = |name: &str| text(name).map(|text| text.and_then(|text| serde_json::from_str(&text).ok()));
        Ok(Self {
            key: row.try_get("task_key")?,
            run: RunRow::of(row)?,
            owner: row.try_get("task_owner")?,
            has_begun: row.try_get::<i64, _>("begun")? != 0,
            request: row.try_get("request")?,
            state: text("state")?.and_then(|state| serde_json::from_str(&state).ok()),
            inbox: json("inbox")?,
            chat: json("chat")?,
            paused: json("paused")?,
            specs: text("specs")?,
        })
    }

    /// Returns `true` for a run of which no effect has been made: it may begin, wherever its row is
    /// found.
    pub(super) fn may_begin(&self) -> bool {
        !self.is_chat() && !self.has_begun && self.run.ended_at.is_none()
    }

    /// Returns `true` for a task that any process may run: it waits, has not begun, or is a chat
    /// between two messages.
    pub(super) fn is_between_effects(&self) -> bool {
        let answers = self.chat.as_ref().is_some_and(|chat| !chat["current"].is_null());
        self.paused.is_some() || self.may_begin() || (self.is_chat() && !answers)
    }

    pub(super) fn is_chat(&self) -> bool {
        self.run.workflow_type == CHAT_WORKFLOW
    }

    /// Returns the state of the task's runs.
    pub(super) fn agent_state(self) -> AgentState {
        self.state.unwrap_or_else(|| AgentInbox::default().state())
    }

    /// Returns the task as clients see it.
    pub(super) fn shown(mut self) -> ProcessRow {
        let (output, failure) = (self.run.output.take(), self.run.failure.take());
        let outcome = self.run.status.has_ended().then(|| match failure {
            Some(failure) => Err(failure.message),
            None => Ok(output.unwrap_or_default()),
        });
        let questions = self.state.map(|state| state.interruptions).unwrap_or_default();
        shown(self.run.into(), self.owner.is_empty(), TaskQuestions::InFull(questions), outcome)
    }
}

/// Returns a task as clients see it.
fn shown(
    run: ListedRun,
    is_left: bool,
    questions: TaskQuestions,
    outcome: Option<Result<Value, String>>,
) -> ProcessRow {
    let place = run.place();
    ProcessRow {
        id: run.id,
        is_chat: run.workflow_type == CHAT_WORKFLOW,
        is_left,
        agent: run.agent,
        title: run.title,
        thread: run.thread,
        status: run.status,
        execution: run.key,
        started_at: rfc3339(run.started_at),
        ended_at: run.ended_at.map(rfc3339),
        labels: run.labels,
        questions,
        outcome,
        place,
    }
}

/// Returns the questions of a state as lists have them; `None` if there are none.
pub(super) fn listed_questions(state: &AgentState) -> Option<String> {
    let AgentState { agent, turn, interruptions, .. } = state;
    let agent = agent.clone().unwrap_or_default();
    (!interruptions.is_empty()).then(|| json_of(&AskedQuestions::new(agent, *turn, interruptions.iter().cloned())))
}

/// Returns the key of the task with this id.
pub(super) fn key_of(id: &str) -> String {
    indexed(id).into_owned()
}

/// Returns the JSON of a value whose keys are strings.
pub(super) fn json_of(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("values of tasks are JSON with string keys")
}

/// Returns the columns of a task.
fn columns() -> String {
    format!("task_key, task_owner, begun, request, state, inbox, chat, paused, specs, {COLUMNS}")
}

/// Adds a task; returns `false` if there is one with this id. After a commit whose outcome is
/// unknown, the store is asked.
pub(super) async fn insert(store: &SqlStore, task: &Task) -> Result<bool, SqlStoreError> {
    let mut transaction = store.begin().await?;
    let statement = "INSERT INTO agents_tasks (task_key, run, task_owner, request, mail, begun) VALUES ($1, $2, $3, $4, 0, 0) \
                     ON CONFLICT (task_key) DO NOTHING";
    let inserted = sqlx::query(statement)
        .bind(&*task.key)
        .bind(&*task.run.key)
        .bind(&*task.owner)
        .bind(&*task.request)
        .execute(&mut *transaction)
        .await?;
    if inserted.rows_affected() == 0 {
        transaction.rollback().await?;
        return Ok(false);
    }
    insert_run(&mut transaction, &task.run).await?;
    commit_new_task(store, transaction, task).await
}

/// Replaces an ended chat by a new one; the row of the ended run stays. Returns `false` if another task
/// has replaced it. Answered mail keeps its answer, except mail in `answers`; unanswered mail is deleted.
pub(super) async fn restart_chat(
    store: &SqlStore,
    ended: &Task,
    task: &Task,
    answers: &[MailAnswer],
) -> Result<bool, SqlStoreError> {
    let mut transaction = store.begin().await?;
    // The number of the latest mail stays: the numbers of later mail follow it.
    let statement = "UPDATE agents_tasks SET run = $1, task_owner = $2, request = $3, begun = 0, state = NULL, inbox = \
                     NULL, chat = NULL, paused = NULL, specs = NULL, questions = NULL WHERE task_key = $4 AND run = $5";
    let replaced = sqlx::query(statement)
        .bind(&*task.run.key)
        .bind(&*task.owner)
        .bind(&*task.request)
        .bind(&*task.key)
        .bind(&*ended.run.key)
        .execute(&mut *transaction)
        .await?;
    if replaced.rows_affected() == 0 {
        transaction.rollback().await?;
        return Ok(false);
    }
    let statement = "DELETE FROM agents_task_mail WHERE task_key = $1 AND (answer IS NULL OR mail_key = $2)";
    sqlx::query(statement).bind(&*task.key).bind(mail::CANCEL).execute(&mut *transaction).await?;
    for MailAnswer { mail, answer } in answers {
        mail::set_answer(&mut transaction, &task.key, &indexed(mail), answer).await?;
    }
    insert_run(&mut transaction, &task.run).await?;
    commit_new_task(store, transaction, task).await
}

/// Commits the row of a new task. If the outcome is unknown, the store is asked.
async fn commit_new_task(store: &SqlStore, transaction: Transaction, task: &Task) -> Result<bool, SqlStoreError> {
    match transaction.commit().await {
        Ok(()) => Ok(true),
        Err(error) => match find(store, &task.key).await {
            Ok(Some(found)) if found.run.key == task.run.key => Ok(true),
            _ => Err(error),
        },
    }
}

/// Returns the task with this key.
pub(super) async fn find(store: &SqlStore, key: &str) -> Result<Option<Task>, SqlStoreError> {
    let statement = format!("SELECT {} FROM {TASKS} WHERE task_key = $1", columns());
    let row = sqlx::query(&statement).bind(key).fetch_optional(store.pool()).await?;
    row.as_ref().map(Task::of).transpose()
}

/// Returns the latest tasks of a list.
pub(super) async fn list(store: &SqlStore, wanted: &TaskList<'_>) -> Result<Vec<ProcessRow>, SqlStoreError> {
    let TaskList { open, waiting, agent, after, limit } = wanted;
    let mut condition = String::from("namespace = '' AND (started_at < $1 OR (started_at = $1 AND run_key < $2))");
    if *open || *waiting {
        condition.push_str(" AND ended_at IS NULL");
    }
    if *waiting {
        condition.push_str(" AND questions IS NOT NULL");
    }
    if agent.is_some() {
        condition.push_str(" AND agent = $3");
    }
    let statement = format!(
        "SELECT {LISTED}, questions, task_owner FROM agents_runs JOIN agents_tasks ON run = run_key WHERE {condition} \
         ORDER BY started_at DESC, run_key DESC LIMIT {limit}"
    );
    let mut query = sqlx::query(&statement).bind(after.started_at).bind(&*after.key);
    if let Some(agent) = agent {
        query = query.bind(storable(agent).into_owned());
    }
    let rows = query.fetch_all(store.pool()).await?;
    let listed = |row: &AnyRow| {
        let questions = match row.try_get::<Option<String>, _>("questions")? {
            None => TaskQuestions::Recorded(None),
            Some(json) => serde_json::from_str(&json).map_or(TaskQuestions::Unreadable, TaskQuestions::Recorded),
        };
        let is_left = row.try_get::<String, _>("task_owner")?.is_empty();
        Ok(shown(ListedRun::of(row)?, is_left, questions, None))
    };
    rows.iter().map(listed).collect()
}

/// Sets the title of a task that has none.
pub(super) async fn set_title(store: &SqlStore, task: &Task, title: &str) -> Result<(), SqlStoreError> {
    let statement = "UPDATE agents_runs SET title = $1 WHERE run_key = $2 AND title IS NULL";
    let title = storable(title).into_owned();
    sqlx::query(statement).bind(title).bind(&*task.run.key).execute(store.pool()).await?;
    Ok(())
}

/// Returns the tasks that another process owns: its id, and their keys.
pub(super) async fn owned_by_others(store: &SqlStore, own: &str) -> Result<Vec<(String, String)>, SqlStoreError> {
    let statement = "SELECT task_owner, task_key FROM agents_tasks WHERE task_owner <> '' AND task_owner <> $1";
    let rows = sqlx::query(statement).bind(own).fetch_all(store.pool()).await?;
    rows.iter().map(|row| Ok((row.try_get("task_owner")?, row.try_get("task_key")?))).collect()
}

/// Returns the keys of the tasks that a process owns.
pub(super) async fn owned_by(store: &SqlStore, own: &str) -> Result<Vec<String>, SqlStoreError> {
    let statement = "SELECT task_key FROM agents_tasks WHERE task_owner = $1";
    let rows = sqlx::query(statement).bind(own).fetch_all(store.pool()).await?;
    rows.iter().map(|row| Ok(row.try_get("task_key")?)).collect()
}

/// Makes this process the owner of a task that `from` owns. Returns the task, or `None` if it has
/// another owner by now, or has ended.
pub(super) async fn claim(store: &SqlStore, key: &str, from: &str, own: &str) -> Result<Option<Task>, SqlStoreError> {
    let statement = "UPDATE agents_tasks SET task_owner = $1 WHERE task_key = $2 AND task_owner = $3";
    let claimed = sqlx::query(statement).bind(own).bind(key).bind(from).execute(store.pool()).await?;
    if claimed.rows_affected() == 0 { Ok(None) } else { find(store, key).await }
}

/// Returns `true` if the task has ended, and has no event after this number.
pub(super) async fn has_ended(store: &SqlStore, key: &str, number: i64) -> Result<bool, SqlStoreError> {
    let statement =
        format!("SELECT task_key FROM {TASKS} WHERE task_key = $1 AND ended_at IS NOT NULL AND sequence <= $2");
    Ok(sqlx::query(&statement).bind(key).bind(number).fetch_optional(store.pool()).await?.is_some())
}

/// Returns `true` if an execution of a task has ended, and has no event after this number. A chat may
/// have started again since.
pub(super) async fn execution_has_ended(store: &SqlStore, run: &str, number: i64) -> Result<bool, SqlStoreError> {
    let statement = "SELECT run_key FROM agents_runs WHERE run_key = $1 AND ended_at IS NOT NULL AND sequence <= $2";
    Ok(sqlx::query(statement).bind(run).bind(number).fetch_optional(store.pool()).await?.is_some())
}

/// Returns the executions of the task with this id, the latest first: their keys, and the numbers of their
/// latest events.
pub(super) async fn executions(store: &SqlStore, id: &str) -> Result<Vec<(String, i64)>, SqlStoreError> {
    let statement = "SELECT run_key, sequence FROM agents_runs WHERE namespace = '' AND id = $1 ORDER BY started_at DESC \
                     LIMIT $2";
    let rows = sqlx::query(statement).bind(storable(id).into_owned()).bind(PAGE).fetch_all(store.pool()).await?;
    rows.iter().map(|row| Ok((row.try_get("run_key")?, row.try_get("sequence")?))).collect()
}

/// Returns the latest fact of an outermost run, if there is one.
pub(super) async fn latest_of_root(store: &SqlStore, run: &str) -> Result<Option<RunEvent>, SqlStoreError> {
    let mut before = i64::MAX;
    loop {
        let page = latest(store, run, before).await?;
        let Some((last, _)) = page.last() else { return Ok(None) };
        before = *last;
        let is_of_root = |event: &RunEvent| event.path.is_empty() && !event.run.is_empty();
        if let Some((_, event)) = page.into_iter().find(|(_, event)| is_of_root(event)) {
            return Ok(Some(event));
        }
    }
}

/// Returns the latest events before this number, latest first.
pub(super) async fn latest(store: &SqlStore, run: &str, before: i64) -> Result<Vec<(i64, RunEvent)>, SqlStoreError> {
    let statement = "SELECT sequence, event FROM agents_run_events WHERE run_key = $1 AND sequence < $2 ORDER BY \
                     sequence DESC LIMIT $3";
    let rows = sqlx::query(statement).bind(run).bind(before).bind(PAGE).fetch_all(store.pool()).await?;
    let event = |row: &AnyRow| Ok((row.try_get("sequence")?, serde_json::from_str(row.try_get("event")?)?));
    rows.iter().map(event).collect()
}
