//! Reads runs and events.

use std::{
    collections::BTreeSet,
    time::{Duration, SystemTime},
};

use sqlx::{Row as _, any::AnyRow};
use temporal_agents_core::wire::{RunEvent, RunMode, run_place::RunPlace};

use super::{
    placeholders,
    row::{COLUMNS, LISTED, ListedRun, RunRow, mode_name},
};
use crate::store::sql::{
    SqlStore, SqlStoreError,
    text::{restored, storable},
};

/// The runs that a process is responsible for.
#[derive(Clone, Debug)]
pub(crate) struct RunFilter {
    pub(crate) namespace: String,
    pub(crate) workflow_types: Vec<String>,
    pub(crate) task_queues: Vec<String>,
}

/// A workflow that has not ended.
#[derive(Debug)]
pub(crate) struct OpenWorkflow {
    /// The key of its row.
    pub(crate) key: String,
    pub(crate) id: String,
    /// Temporal's run id of the latest execution.
    pub(crate) execution: String,
}

/// An event with its place.
#[derive(Debug)]
pub(crate) struct StoredEvent {
    pub(crate) sequence: i64,
    pub(crate) event: RunEvent,
}

impl RunFilter {
    /// Returns `true` if the filter has this run.
    pub(crate) fn has(&self, row: &RunRow) -> bool {
        row.namespace == self.namespace
            && self.workflow_types.contains(&row.workflow_type)
            && self.task_queues.contains(&row.task_queue)
    }

    /// Returns the condition, with parameters from `$1`, and their values.
    fn condition(&self) -> (String, Vec<String>) {
        let (types, queues) = (self.workflow_types.len(), self.task_queues.len());
        let condition = format!(
            "namespace = $1 AND workflow_type IN ({}) AND task_queue IN ({})",
            placeholders(2, types),
            placeholders(2 + types, queues)
        );
        let texts = self.workflow_types.iter().chain(&self.task_queues).map(|text| storable(text).into_owned());
        (condition, std::iter::once(self.namespace.clone()).chain(texts).collect())
    }
}

impl SqlStore {
    /// Returns the latest run with this id.
    pub(crate) async fn run(&self, namespace: &str, id: &str) -> Result<Option<RunRow>, SqlStoreError> {
        let statement = format!(
            "SELECT {COLUMNS} FROM agents_runs WHERE namespace = $1 AND id = $2 \
             ORDER BY started_at DESC, run_key DESC LIMIT 1"
        );
        let id = storable(id).into_owned();
        let row = sqlx::query(&statement).bind(namespace).bind(id).fetch_optional(self.pool()).await?;
        row.as_ref().map(RunRow::of).transpose()
    }

    /// Returns the run with this key.
    pub(crate) async fn run_with_key(&self, key: &str) -> Result<Option<RunRow>, SqlStoreError> {
        let statement = format!("SELECT {COLUMNS} FROM agents_runs WHERE run_key = $1");
        let row = sqlx::query(&statement).bind(key).fetch_optional(self.pool()).await?;
        row.as_ref().map(RunRow::of).transpose()
    }

    /// Returns the latest runs that come after this place, latest first. Of runs with one id only the
    /// latest is among them.
    pub(crate) async fn runs_after(
        &self,
        filter: &RunFilter,
        place: &RunPlace,
        is_open: bool,
        limit: u32,
    ) -> Result<Vec<ListedRun>, SqlStoreError> {
        let (mut condition, texts) = filter.condition();
        let next = texts.len() + 1;
        if is_open {
            condition.push_str(" AND ended_at IS NULL");
        }
        let statement = format!(
            "SELECT {LISTED} FROM agents_runs listed WHERE {condition} \
             AND (started_at < ${next} OR (started_at = ${next} AND run_key < ${key})) \
             AND NOT EXISTS (SELECT 1 FROM agents_runs later WHERE later.namespace = listed.namespace \
             AND later.id = listed.id AND (later.started_at > listed.started_at \
             OR (later.started_at = listed.started_at AND later.run_key > listed.run_key))) \
             ORDER BY started_at DESC, run_key DESC LIMIT {limit}",
            key = next + 1
        );
        let mut query = sqlx::query(&statement);
        for text in &texts {
            query = query.bind(text);
        }
        let rows = query.bind(place.started_at).bind(&*place.key).fetch_all(self.pool()).await?;
        rows.iter().map(ListedRun::of).collect()
    }

    /// Returns workflows that have not ended, in the order of their keys, after this key.
    pub(crate) async fn open_workflows(
        &self,
        filter: &RunFilter,
        after: &str,
        limit: u32,
    ) -> Result<Vec<OpenWorkflow>, SqlStoreError> {
        let (condition, texts) = filter.condition();
        let statement = format!(
            "SELECT run_key, id, execution FROM agents_runs WHERE {condition} AND ended_at IS NULL AND mode = '{}' \
             AND run_key > ${} ORDER BY run_key LIMIT {limit}",
            mode_name(RunMode::Temporal),
            texts.len() + 1
        );
        let mut query = sqlx::query(&statement);
        for text in &texts {
            query = query.bind(text);
        }
        let rows = query.bind(after).fetch_all(self.pool()).await?;
        let open = |row: &AnyRow| {
            let id: String = row.try_get("id")?;
            Ok(OpenWorkflow { key: row.try_get("run_key")?, id: restored(&id), execution: row.try_get("execution")? })
        };
        rows.iter().map(open).collect()
    }

    /// Returns those of the executions that are the last ones of runs which have ended.
    pub(crate) async fn ended_executions(&self, executions: &[String]) -> Result<BTreeSet<String>, SqlStoreError> {
        if executions.is_empty() {
            return Ok(BTreeSet::new());
        }
        let statement = format!(
            "SELECT execution FROM agents_runs WHERE ended_at IS NOT NULL AND execution IN ({})",
            placeholders(1, executions.len())
        );
        let mut query = sqlx::query(&statement);
        for execution in executions {
            query = query.bind(execution);
        }
        let rows = query.fetch_all(self.pool()).await?;
        Ok(rows.iter().map(|row| row.try_get("execution")).collect::<Result<_, _>>()?)
    }

    /// Returns the next events of a run after this sequence number, in their order.
    pub(crate) async fn events_after(
        &self,
        key: &str,
        sequence: i64,
        limit: u32,
    ) -> Result<Vec<StoredEvent>, SqlStoreError> {
        let statement = format!(
            "SELECT sequence, event FROM agents_run_events WHERE run_key = $1 AND sequence > $2 \
             ORDER BY sequence LIMIT {limit}"
        );
        let rows = sqlx::query(&statement).bind(key).bind(sequence).fetch_all(self.pool()).await?;
        let event = |row: &AnyRow| {
            let json: String = row.try_get("event")?;
            Ok(StoredEvent { sequence: row.try_get("sequence")?, event: serde_json::from_str(&json)? })
        };
        rows.iter().map(event).collect()
    }
}

/// Formats a time in milliseconds since 1970 (RFC 3339, UTC).
pub(crate) fn rfc3339(millis: i64) -> String {
    let elapsed = Duration::from_millis(u64::try_from(millis).unwrap_or_default());
    prost_types::Timestamp::from(SystemTime::UNIX_EPOCH + elapsed).to_string()
}
