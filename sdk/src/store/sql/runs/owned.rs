//! A run whose process writes its own events, while it runs.
//!
//! The process owns the row for as long as its lease, which it renews. A run whose lease has ended
//! has lost its process: any other process ends it, and the owner, if it still lives, can write
//! nothing more.

use std::time::Duration;

use sqlx::Row as _;

use super::{
    Appended, NewEvents, RunEnd,
    read::rfc3339,
    row::{COLUMNS, RunRow},
    start::{forget_failed_start, insert},
};
use crate::{
    store::sql::{SqlStore, SqlStoreError, target::Database},
    wire::{EventKind, RecordedFailure, RunEvent, RunStatus},
};

/// Time of a lease: after it, the owner is taken to have ended.
const LEASE: Duration = Duration::from_secs(15);

/// A run of this process.
#[derive(Debug)]
pub(crate) struct OwnedRun {
    store: SqlStore,
    row: RunRow,
}

/// The outcome of beginning a run.
#[derive(Debug)]
pub(crate) enum Begun {
    /// The run belongs to this process.
    Owned(Box<OwnedRun>),
    /// A run with this key exists.
    Exists,
}

impl OwnedRun {
    /// Inserts a run of this process: `row.owner` is a name that no other process has.
    pub(crate) async fn begin(store: &SqlStore, row: RunRow) -> Result<Begun, SqlStoreError> {
        let until = store.now().await? + lease();
        let mut transaction = store.begin().await?;
        let is_new = insert(&mut transaction, &row, Some(until)).await?;
        if is_new {
            forget_failed_start(&mut transaction, &row.namespace, &row.id).await?;
        }
        transaction.commit().await?;
        if is_new { Ok(Begun::Owned(Box::new(Self { store: store.clone(), row }))) } else { Ok(Begun::Exists) }
    }

    /// Returns the row after the latest write.
    pub(crate) fn row(&self) -> &RunRow {
        &self.row
    }

    /// Writes the next events. Returns `false` if the run no longer belongs to this process: it
    /// must stop.
    pub(crate) async fn append(&mut self, new: &NewEvents) -> Result<bool, SqlStoreError> {
        match self.store.append_events(&self.row, new).await? {
            Appended::Written(row) => {
                self.row = *row;
                Ok(true)
            }
            Appended::Lost(_) => Ok(false),
        }
    }

    /// Renews the lease, which ends after 15 s: call it every 5 s. Returns `false` if the run no
    /// longer belongs to this process.
    pub(crate) async fn renew(&self) -> Result<bool, SqlStoreError> {
        let until = self.store.now().await? + lease();
        let statement =
            "UPDATE agents_runs SET lease_until = $1 WHERE run_key = $2 AND owner = $3 AND ended_at IS NULL";
        let renewed = sqlx::query(statement).bind(until).bind(&self.row.key).bind(&self.row.owner);
        Ok(renewed.execute(self.store.pool()).await?.rows_affected() == 1)
    }
}

/// Ends the runs whose process has ended: they have failed. Returns their number.
pub(crate) async fn end_abandoned(store: &SqlStore) -> Result<usize, SqlStoreError> {
    let now = store.now().await?;
    let statement = format!(
        "SELECT {COLUMNS} FROM agents_runs WHERE ended_at IS NULL AND owner <> '' AND lease_until < $1 LIMIT 100"
    );
    let rows = sqlx::query(&statement).bind(now).fetch_all(store.pool()).await?;
    let mut ended = 0;
    for row in &rows {
        let new = NewEvents { events: vec![event(now)], end: Some(process_ended(now)), ..NewEvents::default() };
        // An owner that has written in between lives. One that has not cannot write any more.
        ended += usize::from(matches!(store.append_events(&RunRow::of(row)?, &new).await?, Appended::Written(_)));
    }
    Ok(ended)
}

fn event(now: i64) -> RunEvent {
    let mut event = RunEvent::new(EventKind::RunFailed { failure: failure(), usage: None });
    event.id = "process/ended".to_owned();
    event.time = rfc3339(now);
    event
}

fn process_ended(now: i64) -> RunEnd {
    RunEnd { status: RunStatus::Failed, at: now, output: None, failure: Some(failure()) }
}

fn failure() -> RecordedFailure {
    RecordedFailure::new("ProcessEnded", "the process of the run has ended before the run")
}

fn lease() -> i64 {
    i64::try_from(LEASE.as_millis()).unwrap_or(i64::MAX)
}

impl SqlStore {
    /// Returns the time of the database in milliseconds since 1970: clocks of processes differ.
    pub(crate) async fn now(&self) -> Result<i64, SqlStoreError> {
        let statement = match self.target.database {
            Database::Postgres => "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) AS now",
            Database::Sqlite => "SELECT CAST((julianday('now') - 2440587.5) * 86400000 AS BIGINT) AS now",
        };
        Ok(sqlx::query(statement).fetch_one(self.pool()).await?.try_get("now")?)
    }
}
