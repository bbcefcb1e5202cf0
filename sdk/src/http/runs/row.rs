//! A run in lists: its id, its agent and its status.

use std::collections::BTreeMap;

use serde::Serialize;
use temporalio_client::{Memo, WorkflowExecution};
use temporalio_common::protos::temporal::api::{
    enums::v1::WorkflowExecutionStatus, workflow::v1::WorkflowExecutionInfo,
};

use crate::{
    client::{AGENT_MEMO, LABELS_MEMO, THREAD_MEMO},
    wire::{
        event::{NoteKind, RUN_NOTE_MEMO, RunNote},
        ready_made::CHAT_WORKFLOW,
    },
};

/// Status of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::http) enum Status {
    /// No worker has taken the run yet.
    Queued,
    Running,
    /// A call waits for a person.
    Waiting,
    Completed,
    Failed,
    Cancelled,
    Terminated,
    TimedOut,
}

/// Kind of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    Run,
    Chat,
}

/// A run as the API shows it.
#[derive(Clone, Debug, Serialize)]
pub(in crate::http) struct Row {
    /// Id of the run, which is its workflow's.
    pub(in crate::http) id: String,
    pub(super) kind: Kind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::http) agent: Option<String>,
    /// Id of the stored conversation that the run continues.
    #[serde(skip_serializing_if = "Option::is_none")]
    thread: Option<String>,
    pub(in crate::http) status: Status,
    /// Id of the latest execution (Temporal's run id).
    execution: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    labels: BTreeMap<String, String>,
    /// `true` if the run has paused at least once, and may wait now: the state of the workflow says
    /// whether it does.
    #[serde(skip)]
    pub(in crate::http) has_paused: bool,
}

impl Row {
    /// Returns the row of a workflow.
    pub(super) fn of(workflow: &WorkflowExecution) -> Self {
        Self::of_info(workflow.raw(), &workflow.memo())
    }

    /// Returns the row of a workflow with this memo.
    pub(super) fn of_info(raw: &WorkflowExecutionInfo, memo: &Memo) -> Self {
        let note = memo.get::<RunNote>(RUN_NOTE_MEMO).ok().flatten();
        let execution = raw.execution.clone().unwrap_or_default();
        let is_chat = raw.r#type.as_ref().is_some_and(|kind| kind.name == CHAT_WORKFLOW);
        Self {
            id: execution.workflow_id,
            kind: if is_chat { Kind::Chat } else { Kind::Run },
            agent: memo.get(AGENT_MEMO).ok().flatten(),
            thread: memo.get(THREAD_MEMO).ok().flatten(),
            status: status(raw),
            execution: execution.run_id,
            started_at: raw.start_time.as_ref().map(ToString::to_string),
            ended_at: raw.close_time.as_ref().map(ToString::to_string),
            labels: memo.get(LABELS_MEMO).ok().flatten().unwrap_or_default(),
            has_paused: note.is_some_and(|note| matches!(note.note, NoteKind::Paused)),
        }
    }

    /// Returns `true` if the run is a chat.
    pub(in crate::http) fn is_chat(&self) -> bool {
        self.kind == Kind::Chat
    }

    /// Returns `true` if the workflow has not ended.
    pub(in crate::http) fn is_open(&self) -> bool {
        matches!(self.status, Status::Queued | Status::Running | Status::Waiting)
    }
}

fn status(raw: &WorkflowExecutionInfo) -> Status {
    match raw.status() {
        WorkflowExecutionStatus::Completed => Status::Completed,
        WorkflowExecutionStatus::Failed => Status::Failed,
        WorkflowExecutionStatus::Canceled => Status::Cancelled,
        WorkflowExecutionStatus::Terminated => Status::Terminated,
        WorkflowExecutionStatus::TimedOut => Status::TimedOut,
        // Its start and its first task, which no worker has taken.
        _ if raw.history_length > 0 && raw.history_length <= 2 => Status::Queued,
        _ => Status::Running,
    }
}
