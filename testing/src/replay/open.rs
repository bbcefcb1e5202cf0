//! Replays the histories of all open workflows of a type, from a server, or those of a folder.

use std::{fs, io, path::Path, path::PathBuf};

use futures::{StreamExt, TryStreamExt, stream};
use temporalio_client::{Client, NamespacedClient, WorkflowListOptions, errors::ClientError};
use temporalio_common::protos::temporal::api::{
    enums::v1::EventType,
    history::v1::{
        HistoryEvent, WorkflowTaskScheduledEventAttributes, WorkflowTaskStartedEventAttributes,
        history_event::Attributes,
    },
};

use super::{
    ReplayCheck,
    report::{CheckFailure, CheckedHistory, ReplayReport},
};
use crate::history::{self, History};

/// The reason for which there is no report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplaySourceError {
    /// The server refused to list the workflows.
    #[error("the open workflows cannot be listed: {0}")]
    List(#[from] ClientError),
    /// The folder cannot be read.
    #[error("folder {} cannot be read: {source}", path.display())]
    Folder {
        /// Path of the folder.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
}

impl ReplayCheck {
    /// Replays the histories of all open workflows of a type against this build, each up to its
    /// current end, including its next workflow task. For a workflow that has continued as new,
    /// this is the execution that is open now; the state that it carries is checked as a worker
    /// would check it.
    ///
    /// The client needs the permissions to list workflows and to read histories. Its data converter
    /// decodes the payloads. Workflows are listed by visibility, which may lag by some seconds.
    ///
    /// # Errors
    /// [`ReplaySourceError`]. A history that cannot be fetched is not such an error, but a failed
    /// entry of the report.
    pub async fn open_workflows(
        &self,
        client: &Client,
        workflow_type: &str,
    ) -> Result<ReplayReport, ReplaySourceError> {
        let query = format!("WorkflowType = '{}' AND ExecutionStatus = 'Running'", workflow_type.replace('\'', "''"));
        self.workflows_matching(client, query).await
    }

    /// Replays the open workflows that a visibility query returns, such as those of one task queue;
    /// otherwise like [`open_workflows`](Self::open_workflows).
    ///
    /// # Errors
    /// [`ReplaySourceError`].
    pub async fn workflows_matching(
        &self,
        client: &Client,
        query: impl Into<String>,
    ) -> Result<ReplayReport, ReplaySourceError> {
        let check = self.clone().data_converter(client.data_converter().clone());
        let check = &check;
        let listed = client.list_workflows(query.into(), WorkflowListOptions::default());
        let checked = listed.map_ok(async |workflow| {
            let (id, run_id) = (workflow.id().to_owned(), workflow.run_id().to_owned());
            let result = match history::fetch(client, &id, Some(&run_id)).await {
                Ok(history) => check.replay(&with_next_task(history)).await.map_err(CheckFailure::Replay),
                Err(error) => Err(CheckFailure::History(error.into())),
            };
            Ok::<_, ClientError>(CheckedHistory { name: id, run_id: Some(run_id), result })
        });
        Ok(ReplayReport { checked: checked.try_buffered(self.at_once).try_collect().await? })
    }

    /// Replays the histories of a folder (files `*.json`, sorted by name) against this build, each
    /// up to its end, including its next workflow task.
    ///
    /// # Errors
    /// [`ReplaySourceError`]. A file that does not contain a history is not such an error, but a
    /// failed entry of the report.
    pub async fn folder(&self, folder: impl AsRef<Path>) -> Result<ReplayReport, ReplaySourceError> {
        let path = folder.as_ref();
        let paths = files(path).map_err(|source| ReplaySourceError::Folder { path: path.to_owned(), source })?;
        let checked = stream::iter(paths).map(async |path| {
            let result = match history::load(&path) {
                Ok(history) => self.replay(&with_next_task(history)).await.map_err(CheckFailure::Replay),
                Err(error) => Err(CheckFailure::History(error.into())),
            };
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            CheckedHistory { name, run_id: None, result }
        });
        Ok(ReplayReport { checked: checked.buffered(self.at_once).collect().await })
    }
}

fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Appends the start of the next workflow task to the history of an open workflow, so that the
/// replay also covers the workflow's reaction to all events so far. A replay ends with a workflow
/// task.
fn with_next_task(mut history: History) -> History {
    let Some(last) = history.events.last().cloned() else { return history };
    let event = |kind: EventType, id: i64, attributes: Attributes| HistoryEvent {
        event_id: id,
        event_time: last.event_time,
        event_type: kind as i32,
        attributes: Some(attributes),
        ..HistoryEvent::default()
    };
    // A closed workflow has no next task, and a history that ends with a started task already
    // contains it.
    let scheduled = match last.event_type() {
        EventType::WorkflowTaskStarted
        | EventType::WorkflowExecutionCompleted
        | EventType::WorkflowExecutionFailed
        | EventType::WorkflowExecutionTimedOut
        | EventType::WorkflowExecutionCanceled
        | EventType::WorkflowExecutionTerminated
        | EventType::WorkflowExecutionContinuedAsNew => return history,
        EventType::WorkflowTaskScheduled => last.event_id,
        _ => {
            let id = last.event_id + 1;
            let scheduled = WorkflowTaskScheduledEventAttributes::default();
            let attributes = Attributes::WorkflowTaskScheduledEventAttributes(scheduled);
            history.events.push(event(EventType::WorkflowTaskScheduled, id, attributes));
            id
        }
    };
    let started = WorkflowTaskStartedEventAttributes {
        scheduled_event_id: scheduled,
        ..WorkflowTaskStartedEventAttributes::default()
    };
    let attributes = Attributes::WorkflowTaskStartedEventAttributes(started);
    history.events.push(event(EventType::WorkflowTaskStarted, scheduled + 1, attributes));
    history
}
