//! The events of a run in the database, as a stream.

use std::{collections::VecDeque, time::Duration};

use futures::{
    StreamExt,
    stream::{BoxStream, unfold},
};
use temporal_agents_core::wire::{RunEvent, RunMode};
use tokio::time::sleep;

use crate::{
    client::is_within,
    http::error::ApiError,
    store::{
        SqlStore, SqlStoreError,
        sql::runs::{RunRow, StoredEvent},
    },
};

/// Number of events that are read together.
const PAGE: u32 = 200;
/// The interval between two looks at a run that writes its own events.
const INTERVAL: Duration = Duration::from_millis(500);
/// The version of the cursors of events that have none of their own.
const PLACE: &str = "0.";

/// Events of a run in the database.
pub(in crate::http::runs) struct StoredEvents {
    pub(in crate::http::runs) events: BoxStream<'static, Result<RunEvent, ApiError>>,
    /// The cursor after which the server has the next events; `None` if these are all.
    pub(in crate::http::runs) next: Option<String>,
}

/// The place of a reader.
struct Reader {
    store: SqlStore,
    run: RunRow,
    from: Option<String>,
    sequence: i64,
    events: VecDeque<StoredEvent>,
}

/// Returns the sequence number of a cursor that this module has made.
pub(super) fn sequence_of(cursor: &str) -> Option<i64> {
    cursor.strip_prefix(PLACE)?.parse().ok()
}

/// Returns the events of a run after this cursor: until the run has ended, if its own process
/// writes them.
pub(super) fn follow_stored(
    store: SqlStore,
    run: RunRow,
    from: Option<String>,
) -> BoxStream<'static, Result<RunEvent, ApiError>> {
    let reader = Reader { store, run, from, sequence: 0, events: VecDeque::new() };
    unfold(Some(reader), |reader| async move {
        let mut reader = reader?;
        match reader.next().await {
            Ok(Some(event)) => Some((Ok(event), Some(reader))),
            Ok(None) => None,
            Err(error) => Some((Err(ApiError::database(error)), None)),
        }
    })
    .boxed()
}

impl Reader {
    async fn next(&mut self) -> Result<Option<RunEvent>, SqlStoreError> {
        if let Some(from) = self.from.take() {
            self.sequence = self.place_of(&from).await?;
        }
        loop {
            if let Some(StoredEvent { sequence, mut event }) = self.events.pop_front() {
                self.sequence = sequence;
                event.cursor.get_or_insert_with(|| format!("{PLACE}{sequence}"));
                return Ok(Some(event));
            }
            self.events = self.store.events_after(&self.run.key, self.sequence, PAGE).await?.into();
            if !self.events.is_empty() {
                continue;
            }
            if self.run.ended_at.is_some() || self.run.mode == RunMode::Temporal {
                return Ok(None);
            }
            // The row says that the run has ended when all its events are written.
            match self.store.run_with_key(&self.run.key).await? {
                Some(run) if run.ended_at.is_some() || run.sequence > self.sequence => self.run = run,
                Some(_) => sleep(INTERVAL).await,
                None => return Ok(None),
            }
        }
    }

    /// Returns the sequence number of the event with this cursor, or of the last one before it: a
    /// delta's place is between two events.
    async fn place_of(&self, from: &str) -> Result<i64, SqlStoreError> {
        if let Some(sequence) = sequence_of(from) {
            return Ok(sequence);
        }
        let (mut before, mut at) = (0, 0);
        loop {
            let page = self.store.events_after(&self.run.key, at, PAGE).await?;
            let Some(last) = page.last() else { return Ok(before) };
            at = last.sequence;
            for StoredEvent { sequence, event } in page {
                match event.cursor.as_deref() {
                    Some(cursor) if cursor == from => return Ok(sequence),
                    Some(cursor) if is_within(cursor, from) => before = sequence,
                    _ => {}
                }
            }
        }
    }
}
