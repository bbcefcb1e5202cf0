//! Inserts runs, and runs whose start has failed.

use std::time::SystemTime;

use temporal_agents_core::wire::{EventKind, RecordedFailure, RunEvent, RunStatus};

use super::{
    NewEvents, RunEnd,
    read::rfc3339,
    row::{COLUMNS, RunRow, json, millis, mode_name, optional, status_name},
    write::Appended,
};
use crate::store::sql::{
    SqlStore, SqlStoreError, Transaction,
    text::{indexed, storable},
};

/// The prefix of the key of a run that has not started: Temporal's run ids are UUIDs.
const FAILED_START: &str = "start/";

/// The failure to start a run.
#[derive(Debug)]
pub(crate) struct FailedStart {
    /// The run as it would have been.
    pub(crate) row: RunRow,
    pub(crate) failure: RecordedFailure,
}

impl SqlStore {
    /// Inserts a run, unless it exists. Returns `true` if it was inserted.
    pub(crate) async fn insert_run(&self, row: &RunRow) -> Result<bool, SqlStoreError> {
        let mut transaction = self.begin().await?;
        let is_new = insert(&mut transaction, row).await?;
        if is_new {
            forget_failed_start(&mut transaction, &row.namespace, &row.id).await?;
        }
        transaction.commit().await?;
        Ok(is_new)
    }

    /// Records that a run could not be started, unless there is a run with its id.
    pub(crate) async fn record_failed_start(&self, failed: FailedStart) -> Result<(), SqlStoreError> {
        let FailedStart { mut row, failure } = failed;
        let mut transaction = self.begin().await?;
        forget_failed_start(&mut transaction, &row.namespace, &row.id).await?;
        transaction.commit().await?;
        if self.run(&row.namespace, &row.id).await?.is_some() {
            return Ok(());
        }
        row.key = failed_start_key(&row.namespace, &row.id);
        self.insert_run_only(&row).await?;
        let mut event = RunEvent::new(EventKind::RunFailed { failure: failure.clone(), usage: None });
        event.id = String::from("start/ended");
        event.time = rfc3339(row.started_at);
        let end =
            RunEnd { status: RunStatus::Failed, at: millis(SystemTime::now()), output: None, failure: Some(failure) };
        let new = NewEvents { events: vec![event], end: Some(end), ..NewEvents::default() };
        match self.append_events(&row, &new).await? {
            // Another request for the same run has recorded the same.
            Appended::Written(_) | Appended::Lost(_) => Ok(()),
        }
    }

    async fn insert_run_only(&self, row: &RunRow) -> Result<(), SqlStoreError> {
        let mut transaction = self.begin().await?;
        insert(&mut transaction, row).await?;
        transaction.commit().await?;
        Ok(())
    }
}

fn failed_start_key(namespace: &str, id: &str) -> String {
    let key = format!("{FAILED_START}{namespace}/{id}");
    indexed(&key).into_owned()
}

/// Inserts a row, unless there is one with its key. Returns `true` if it was inserted.
pub(crate) async fn insert(transaction: &mut Transaction, row: &RunRow) -> Result<bool, SqlStoreError> {
    let statement = format!(
        "INSERT INTO agents_runs ({COLUMNS}) VALUES ({}) ON CONFLICT (run_key) DO NOTHING",
        super::placeholders(1, 18)
    );
    let inserted = sqlx::query(&statement)
        .bind(&row.key)
        .bind(&row.namespace)
        .bind(storable(&row.id).into_owned())
        .bind(mode_name(row.mode))
        .bind(storable(&row.workflow_type).into_owned())
        .bind(storable(&row.task_queue).into_owned())
        .bind(optional(row.agent.as_ref()))
        .bind(optional(row.thread.as_ref()))
        .bind(serde_json::to_string(&row.labels)?)
        .bind(status_name(row.status))
        .bind(&row.execution)
        .bind(row.started_at)
        .bind(row.ended_at)
        .bind(json(row.output.as_ref())?)
        .bind(json(row.failure.as_ref())?)
        .bind(row.cursor.clone())
        .bind(row.sequence)
        .bind(optional(row.title.as_ref()))
        .execute(&mut **transaction)
        .await?;
    Ok(inserted.rows_affected() == 1)
}

/// Deletes the record that an earlier start of this run has failed.
pub(super) async fn forget_failed_start(
    transaction: &mut Transaction,
    namespace: &str,
    id: &str,
) -> Result<(), SqlStoreError> {
    let key = failed_start_key(namespace, id);
    for table in ["agents_runs", "agents_run_events"] {
        let statement = format!("DELETE FROM {table} WHERE run_key = $1");
        sqlx::query(&statement).bind(&key).execute(&mut **transaction).await?;
    }
    Ok(())
}
