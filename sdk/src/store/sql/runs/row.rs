//! A row of `agents_runs`.

use std::{collections::BTreeMap, time::SystemTime};

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use sqlx::{Row as _, any::AnyRow};
use temporal_agents_core::wire::{RecordedFailure, RunMode, RunStatus, run_place::RunPlace};

use super::super::{
    SqlStoreError,
    text::{restored, storable},
};

/// The columns, in the order of [`RunRow::of`].
pub(crate) const COLUMNS: &str = "run_key, namespace, id, mode, workflow_type, task_queue, agent, thread, labels, \
                                  status, execution, started_at, ended_at, output, failure, event_cursor, \
                                  sequence, title";
/// The columns of [`ListedRun::of`]: none that may be large.
pub(crate) const LISTED: &str = "run_key, id, mode, workflow_type, agent, title, thread, labels, status, execution, \
                                 started_at, ended_at";

/// A run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RunRow {
    /// Temporal's run id of the first execution; of a run without a workflow an id of its own.
    pub(crate) key: String,
    /// Temporal's namespace.
    pub(crate) namespace: String,
    /// Id of the run, which is the workflow's.
    pub(crate) id: String,
    pub(crate) mode: RunMode,
    pub(crate) workflow_type: String,
    pub(crate) task_queue: String,
    pub(crate) agent: Option<String>,
    /// The thread of a run that continues a stored conversation.
    pub(crate) thread: Option<String>,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) status: RunStatus,
    /// Temporal's run id of the latest execution; empty without a workflow.
    pub(crate) execution: String,
    /// Milliseconds since 1970.
    pub(crate) started_at: i64,
    /// Milliseconds since 1970.
    pub(crate) ended_at: Option<i64>,
    pub(crate) output: Option<Value>,
    pub(crate) failure: Option<RecordedFailure>,
    /// Cursor of the latest event that was written and has one.
    pub(crate) cursor: Option<String>,
    /// Number of the events that were written.
    pub(crate) sequence: i64,
    /// What a person recognises the run by.
    pub(crate) title: Option<String>,
}

/// A run as a list shows it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ListedRun {
    /// See [`RunRow`] for all fields.
    pub(crate) key: String,
    pub(crate) id: String,
    pub(crate) mode: RunMode,
    pub(crate) workflow_type: String,
    pub(crate) agent: Option<String>,
    pub(crate) title: Option<String>,
    pub(crate) thread: Option<String>,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) status: RunStatus,
    pub(crate) execution: String,
    pub(crate) started_at: i64,
    pub(crate) ended_at: Option<i64>,
}

impl RunRow {
    /// Returns the row of a run that begins now.
    pub(crate) fn new(key: impl Into<String>, id: impl Into<String>, mode: RunMode) -> Self {
        Self {
            key: key.into(),
            namespace: String::new(),
            id: id.into(),
            mode,
            workflow_type: String::new(),
            task_queue: String::new(),
            agent: None,
            thread: None,
            labels: BTreeMap::new(),
            status: RunStatus::Queued,
            execution: String::new(),
            started_at: millis(SystemTime::now()),
            ended_at: None,
            output: None,
            failure: None,
            cursor: None,
            sequence: 0,
            title: None,
        }
    }

    pub(crate) fn of(row: &AnyRow) -> Result<Self, SqlStoreError> {
        let text = |name| row.try_get::<String, _>(name);
        let optional = |name| row.try_get::<Option<String>, _>(name);
        Ok(Self {
            key: text("run_key")?,
            namespace: text("namespace")?,
            id: restored(&text("id")?),
            mode: mode_of(&text("mode")?),
            workflow_type: restored(&text("workflow_type")?),
            task_queue: restored(&text("task_queue")?),
            agent: optional("agent")?.as_deref().map(restored),
            thread: optional("thread")?.as_deref().map(restored),
            labels: serde_json::from_str(&text("labels")?)?,
            status: status_of(text("status")?)?,
            execution: text("execution")?,
            started_at: row.try_get("started_at")?,
            ended_at: row.try_get("ended_at")?,
            output: parsed(optional("output")?)?,
            failure: parsed(optional("failure")?)?,
            cursor: optional("event_cursor")?,
            sequence: row.try_get("sequence")?,
            title: optional("title")?.as_deref().map(restored),
        })
    }
}

impl ListedRun {
    pub(crate) fn of(row: &AnyRow) -> Result<Self, SqlStoreError> {
        let text = |name| row.try_get::<String, _>(name);
        let optional = |name| row.try_get::<Option<String>, _>(name);
        Ok(Self {
            key: text("run_key")?,
            id: restored(&text("id")?),
            mode: mode_of(&text("mode")?),
            workflow_type: restored(&text("workflow_type")?),
            agent: optional("agent")?.as_deref().map(restored),
            title: optional("title")?.as_deref().map(restored),
            thread: optional("thread")?.as_deref().map(restored),
            labels: serde_json::from_str(&text("labels")?)?,
            status: status_of(text("status")?)?,
            execution: text("execution")?,
            started_at: row.try_get("started_at")?,
            ended_at: row.try_get("ended_at")?,
        })
    }

    pub(crate) fn place(&self) -> RunPlace {
        RunPlace { started_at: self.started_at, key: self.key.clone() }
    }
}

impl From<RunRow> for ListedRun {
    fn from(row: RunRow) -> Self {
        let RunRow { key, id, mode, workflow_type, agent, title, thread, labels, status, execution, .. } = row;
        let (started_at, ended_at) = (row.started_at, row.ended_at);
        Self { key, id, mode, workflow_type, agent, title, thread, labels, status, execution, started_at, ended_at }
    }
}

fn mode_of(name: &str) -> RunMode {
    if name == mode_name(RunMode::InProcess) { RunMode::InProcess } else { RunMode::Temporal }
}

fn status_of(name: String) -> Result<RunStatus, serde_json::Error> {
    serde_json::from_value(Value::String(name))
}

/// Returns the name of a mode in the table.
pub(super) fn mode_name(mode: RunMode) -> &'static str {
    match mode {
        RunMode::Temporal => "temporal",
        RunMode::InProcess => "inprocess",
    }
}

fn parsed<T: DeserializeOwned>(json: Option<String>) -> Result<Option<T>, serde_json::Error> {
    json.as_deref().map(serde_json::from_str).transpose()
}

/// Returns the JSON of a column.
pub(super) fn json(value: Option<&impl Serialize>) -> Result<Option<String>, serde_json::Error> {
    value.map(serde_json::to_string).transpose()
}

/// Returns the name of a status in the table, which is that of the API.
pub(super) fn status_name(status: RunStatus) -> String {
    let name = serde_json::to_value(status).expect("a status is a string");
    name.as_str().unwrap_or_default().to_owned()
}

/// Returns an optional text for a column.
pub(super) fn optional(text: Option<&String>) -> Option<String> {
    text.map(|text| storable(text).into_owned())
}

/// Returns a time in milliseconds since 1970.
pub(crate) fn millis(time: SystemTime) -> i64 {
    let elapsed = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX)
}
