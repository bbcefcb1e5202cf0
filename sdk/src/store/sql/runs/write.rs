//! Writes the next events of a run, and its end.

use serde_json::Value;
use temporal_agents_core::wire::{EventKind, RecordedFailure, RunEvent, RunStatus};

use super::{
    messages::{MessageRow, messages_of},
    placeholders,
    row::{RunRow, json, optional, status_name},
};
use crate::store::sql::{SqlStore, SqlStoreError, Transaction, text::indexed};

/// Maximum number of rows in one statement.
const MAX_ROWS: usize = 50;

/// The next events of a run. Deltas among them are left out.
#[derive(Debug, Default)]
pub(crate) struct NewEvents {
    pub(crate) events: Vec<RunEvent>,
    /// The latest execution of the workflow, if it is known to have changed.
    pub(crate) execution: Option<String>,
    /// The place from which the next events come, if not that of the last event.
    pub(crate) cursor: Option<String>,
    /// The end of the run.
    pub(crate) end: Option<RunEnd>,
}

/// The end of a run.
#[derive(Clone, Debug)]
pub(crate) struct RunEnd {
    pub(crate) status: RunStatus,
    /// Milliseconds since 1970.
    pub(crate) at: i64,
    pub(crate) output: Option<Value>,
    pub(crate) failure: Option<RecordedFailure>,
}

/// The outcome of writing events.
#[derive(Debug)]
pub(crate) enum Appended {
    /// They were written; the row after them.
    Written(Box<RunRow>),
    /// Another writer has written events since the row was read, or owns the run. The row as it is
    /// now; `None` if it was deleted.
    Lost(Option<Box<RunRow>>),
}

impl SqlStore {
    /// Writes the next events of a run, all or none of them.
    ///
    /// # Errors
    /// [`SqlStoreError`]: the events may have been written, so read the row again.
    pub(crate) async fn append_events(&self, row: &RunRow, new: &NewEvents) -> Result<Appended, SqlStoreError> {
        let mut transaction = self.begin().await?;
        let Some(next) = append(&mut transaction, row, new).await? else {
            transaction.rollback().await?;
            return Ok(Appended::Lost(self.run_with_key(&row.key).await?.map(Box::new)));
        };
        transaction.commit().await?;
        Ok(Appended::Written(Box::new(next)))
    }
}

/// Writes the next events of a run as a part of a transaction. Returns the row after them; `None`
/// if another writer has written since the row was read.
pub(crate) async fn append(
    transaction: &mut Transaction,
    row: &RunRow,
    new: &NewEvents,
) -> Result<Option<RunRow>, SqlStoreError> {
    let facts: Vec<&RunEvent> = new.events.iter().filter(|event| is_stored(event)).collect();
    let next = row_after(row, new);
    if !claim(transaction, row, &next).await? {
        return Ok(None);
    }
    let numbered: Vec<(i64, &RunEvent)> = (row.sequence + 1..).zip(facts).collect();
    for part in numbered.chunks(MAX_ROWS) {
        insert_events(transaction, &row.key, part).await?;
    }
    let messages: Vec<MessageRow> = numbered.iter().flat_map(|(at, event)| messages_of(*at, event)).collect();
    for part in messages.chunks(MAX_ROWS) {
        insert_messages(transaction, &row.key, part).await?;
    }
    Ok(Some(next))
}

/// Returns `true` for facts, and for the messages of a chat in a process: these deltas have ids,
/// and their order links them to the runs that answer them.
pub(crate) fn is_stored(event: &RunEvent) -> bool {
    !event.is_delta() || matches!(event.kind, EventKind::ChatMessageDelta { .. })
}

/// Returns the row after these events.
pub(crate) fn row_after(row: &RunRow, new: &NewEvents) -> RunRow {
    let mut next = row.clone();
    for event in new.events.iter().filter(|event| is_stored(event)) {
        next.sequence += 1;
        next.status = status_after(next.status, event);
        if let Some(cursor) = &event.cursor {
            next.cursor = Some(cursor.clone());
        }
        if next.agent.is_none() && is_of_run(event) && !event.agent.is_empty() {
            next.agent = Some(event.agent.clone());
        }
    }
    if let Some(execution) = &new.execution {
        next.execution.clone_from(execution);
    }
    if let Some(cursor) = &new.cursor {
        next.cursor = Some(cursor.clone());
    }
    if next.sequence > row.sequence || new.end.is_some() {
        // A run that has ended and has events again was reset.
        (next.ended_at, next.output, next.failure) = (None, None, None);
    }
    if let Some(RunEnd { status, at, output, failure }) = new.end.clone() {
        (next.status, next.ended_at, next.output, next.failure) = (status, Some(at), output, failure);
    }
    next
}

/// Returns `true` if an event is of the run itself, not of a run or workflow inside it.
pub(super) fn is_of_run(event: &RunEvent) -> bool {
    event.path.is_empty() && event.workflow.is_none()
}

/// Returns the status of a run after an event. An end of a run is not that of its workflow, which
/// may begin another one: a chat does.
fn status_after(status: RunStatus, event: &RunEvent) -> RunStatus {
    if !is_of_run(event) {
        return status;
    }
    match event.kind {
        EventKind::RunPaused {} => RunStatus::Waiting,
        EventKind::RunStarted { .. }
        | EventKind::RunResumed {}
        | EventKind::RunReset { .. }
        | EventKind::TurnStarted {}
        | EventKind::ModelCallScheduled { .. }
        | EventKind::RunFinished { .. }
        | EventKind::RunFailed { .. }
        | EventKind::RunCancelled { .. } => RunStatus::Running,
        _ => status,
    }
}

/// Moves the run from the place that the writer has read. Returns `false` if it is not there.
async fn claim(transaction: &mut Transaction, row: &RunRow, next: &RunRow) -> Result<bool, SqlStoreError> {
    let claimed = sqlx::query(
        "UPDATE agents_runs SET status = $1, execution = $2, ended_at = $3, output = $4, failure = $5, \
         event_cursor = $6, sequence = $7, agent = $8 WHERE run_key = $9 AND sequence = $10",
    )
    .bind(status_name(next.status))
    .bind(&next.execution)
    .bind(next.ended_at)
    .bind(json(next.output.as_ref())?)
    .bind(json(next.failure.as_ref())?)
    .bind(next.cursor.clone())
    .bind(next.sequence)
    .bind(optional(next.agent.as_ref()))
    .bind(&row.key)
    .bind(row.sequence)
    .execute(&mut **transaction)
    .await?;
    Ok(claimed.rows_affected() == 1)
}

async fn insert_events(
    transaction: &mut Transaction,
    key: &str,
    events: &[(i64, &RunEvent)],
) -> Result<(), SqlStoreError> {
    let statement = format!(
        "INSERT INTO agents_run_events (run_key, sequence, event_id, event) VALUES {} ON CONFLICT DO NOTHING",
        rows(events.len(), 4)
    );
    let mut query = sqlx::query(&statement);
    for (sequence, event) in events {
        let id = match &event.workflow {
            Some(workflow) => format!("{workflow}#{}", event.id),
            None => event.id.clone(),
        };
        query = query
            .bind(key)
            .bind(*sequence)
            .bind(indexed(&id).into_owned())
            .bind(serde_json::to_string(&(*event).clone().stored())?);
    }
    query.execute(&mut **transaction).await?;
    Ok(())
}

async fn insert_messages(
    transaction: &mut Transaction,
    key: &str,
    messages: &[MessageRow<'_>],
) -> Result<(), SqlStoreError> {
    let statement = format!(
        "INSERT INTO agents_messages (run_key, sequence, position, role, agent, content, item, created_at) VALUES {}",
        rows(messages.len(), 8)
    );
    let mut query = sqlx::query(&statement);
    for message in messages {
        let MessageRow { sequence, position, role, agent, content, item, created_at } = message;
        query = query.bind(key).bind(*sequence).bind(*position).bind(role).bind(agent).bind(content);
        query = query.bind(serde_json::to_string(item)?).bind(*created_at);
    }
    query.execute(&mut **transaction).await?;
    Ok(())
}

/// Returns the placeholders of this number of rows.
fn rows(count: usize, columns: usize) -> String {
    let row = |row| format!("({})", placeholders(row * columns + 1, columns));
    (0..count).map(row).collect::<Vec<_>>().join(", ")
}
