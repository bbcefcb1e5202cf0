//! Follows one workflow: reads its events and writes them, until it ends.

use std::{sync::Arc, time::SystemTime};

use futures::{StreamExt, stream::BoxStream};
use temporal_agents_core::wire::RunEvent;
use tokio::select;

use super::{
    Shared,
    gone::{end_of_chain, gone_or_moved},
    origin::{describe, row_of},
    schedule::{Task, Turns},
};
use crate::{
    client::{ReadItem, RunEventsError, cursor_before, execution_of, read_events},
    store::{
        SqlStoreError,
        sql::runs::{Appended, NewEvents, RunEnd, RunRow},
    },
};

/// Maximum number of events in one transaction.
const MAX_EVENTS: usize = 100;

/// Follows workflows.
#[derive(Clone)]
pub(super) struct Follower {
    pub(super) shared: Arc<Shared>,
    pub(super) turns: Turns,
}

/// The reason why a workflow is not followed any more.
#[derive(Debug)]
pub(super) enum Followed {
    /// All of it is written, or nothing of it is to be.
    Done,
    /// Another task follows it, under this key.
    ByAnother(String),
    /// It has no news, and others wait for their turn.
    Quiet,
    /// Server or database have failed.
    Failed,
}

/// The place up to which a history was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) execution: String,
    pub(super) event: i64,
}

/// The error of following a workflow.
#[derive(Debug, thiserror::Error)]
pub(super) enum FollowError {
    #[error(transparent)]
    Server(#[from] RunEventsError),
    #[error(transparent)]
    Database(#[from] SqlStoreError),
}

/// The next part of a history.
struct Portion {
    events: Vec<RunEvent>,
    end: Option<RunEnd>,
    execution: Option<String>,
    /// The place of a history without news.
    quiet: Option<Place>,
    /// The error after the events.
    error: Option<RunEventsError>,
}

/// The outcome of writing a portion.
enum Written {
    Row(Box<RunRow>),
    /// The row is at a place that is not in the portion.
    Elsewhere,
    Deleted,
}

type Items = BoxStream<'static, Vec<Result<ReadItem, RunEventsError>>>;

impl Follower {
    /// Follows the workflow of a task.
    pub(super) async fn follow(self, mut task: Task) -> (Task, Followed) {
        let followed = select! {
            () = self.turns.stopped.cancelled() => Followed::Quiet,
            followed = self.try_follow(&mut task) => followed.unwrap_or_else(|error| {
                let workflow = &*task.candidate.workflow_id;
                tracing::warn!(workflow, %error, "a workflow cannot be followed; trying again");
                Followed::Failed
            }),
        };
        (task, followed)
    }

    async fn try_follow(&self, task: &mut Task) -> Result<Followed, FollowError> {
        let _permit = if task.candidate.has_ended { self.turns.ended.acquire().await.ok() } else { None };
        if let Some(place) = &task.place {
            let latest = describe(&self.shared.client, &task.candidate.workflow_id, None).await?;
            if latest
                .is_some_and(|latest| latest.execution == place.execution && latest.info.history_length == place.event)
            {
                return Ok(Followed::Quiet);
            }
        }
        let key = if let Some(key) = &task.key {
            key.clone()
        } else {
            let Some(key) = self.key_of(task).await? else { return Ok(Followed::Done) };
            if !self.turns.take(&key) {
                return Ok(Followed::ByAnother(key));
            }
            task.key = Some(key.clone());
            key
        };
        loop {
            let Some(row) = self.shared.store.run_with_key(&key).await? else { return Ok(Followed::Done) };
            if let Some(followed) = self.follow_from(row, task).await? {
                return Ok(followed);
            }
        }
    }

    /// Returns the key of a workflow, which has a row from then on. Returns `None` for a workflow
    /// that was deleted before.
    async fn key_of(&self, task: &Task) -> Result<Option<String>, FollowError> {
        let Task { candidate, .. } = task;
        if let Some(key) = &candidate.key {
            return Ok(Some(key.clone()));
        }
        let described = describe(&self.shared.client, &candidate.workflow_id, Some(&candidate.execution)).await?;
        let Some(described) = described else { return Ok(None) };
        if self.shared.store.run_with_key(&described.first).await?.is_none() {
            let row = row_of(&self.shared, &described).await?;
            self.shared.store.insert_run(&row).await?;
        }
        Ok(Some(described.first))
    }

    /// Follows a workflow from the place in its row. Returns `None` if the row is at another place
    /// now.
    async fn follow_from(&self, mut row: RunRow, task: &mut Task) -> Result<Option<Followed>, FollowError> {
        let from = row.cursor.clone().unwrap_or_else(|| cursor_before(&row.key));
        let mut items = self.items(&row.id, &from);
        while let Some(portion) = items.next().await {
            let Portion { events, end, execution, quiet, error } = portion_of(portion);
            let execution = execution.or_else(|| events.last()?.cursor.as_deref().and_then(execution_of));
            let has_ended = end.is_some();
            if !events.is_empty() || has_ended {
                match self.write(row, NewEvents { events, execution, cursor: None, end }).await? {
                    Written::Row(written) => row = *written,
                    Written::Elsewhere => return Ok(None),
                    Written::Deleted => return Ok(Some(Followed::Done)),
                }
            }
            if has_ended {
                #[cfg(feature = "otel")]
                if let Some(tracing) = &self.shared.tracing {
                    tracing.of_ended(&row.id, &row.execution).await;
                }
                return Ok(Some(Followed::Done));
            }
            match error {
                Some(RunEventsError::NotFound { .. }) => return self.without_history(row).await,
                Some(error) => return Err(error.into()),
                None => {}
            }
            if let Some(place) = quiet
                && self.turns.is_wanted()
            {
                task.place = Some(place);
                return Ok(Some(Followed::Quiet));
            }
        }
        // The history was cut: its end is in the description only.
        self.without_history(row).await
    }

    fn items(&self, workflow_id: &str, from: &str) -> Items {
        read_events(&self.shared.client, workflow_id, from).ready_chunks(MAX_EVENTS).boxed()
    }

    /// Writes a portion, or the part of it that another projector has not written yet.
    async fn write(&self, mut row: RunRow, mut new: NewEvents) -> Result<Written, FollowError> {
        loop {
            match self.shared.store.append_events(&row, &new).await? {
                Appended::Written(row) => return Ok(Written::Row(row)),
                Appended::Lost(None) => return Ok(Written::Deleted),
                Appended::Lost(Some(now)) => {
                    let at = |event: &RunEvent| event.cursor.is_some() && event.cursor == now.cursor;
                    if now.cursor == row.cursor && now.sequence != row.sequence {
                        // Only a run that has ended has events without a cursor.
                        return Ok(Written::Deleted);
                    }
                    let Some(place) = new.events.iter().position(at) else { return Ok(Written::Elsewhere) };
                    new.events.drain(..=place);
                    if new.events.is_empty() && new.end.is_none() {
                        return Ok(Written::Row(now));
                    }
                    row = *now;
                }
            }
        }
    }

    /// Continues with the latest execution, or ends the row, of a workflow whose history the server
    /// does not have.
    async fn without_history(&self, row: RunRow) -> Result<Option<Followed>, FollowError> {
        gone_or_moved(&self.shared, row).await
    }
}

/// Sorts the items of a reader.
fn portion_of(items: Vec<Result<ReadItem, RunEventsError>>) -> Portion {
    let mut portion = Portion { events: Vec::new(), end: None, execution: None, quiet: None, error: None };
    for item in items {
        match item {
            Ok(ReadItem::Event(event)) => {
                if !event.is_delta() {
                    portion.events.push(*event);
                }
            }
            Ok(ReadItem::Nothing { execution, event }) => portion.quiet = Some(Place { execution, event }),
            Ok(ReadItem::Ended { execution, end }) => {
                portion.execution = Some(execution);
                portion.end = end.map(|(end, time)| end_of_chain(end, &time, SystemTime::now()));
            }
            Err(error) => portion.error = Some(error),
        }
    }
    portion
}
