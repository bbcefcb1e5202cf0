//! A run in lists: its id, its agent and its status.

use std::{collections::BTreeMap, sync::Arc};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use temporalio_client::{Memo, WorkflowExecution, WorkflowExecutionDescription};
use temporalio_common::protos::temporal::api::{
    enums::v1::WorkflowExecutionStatus, workflow::v1::WorkflowExecutionInfo,
};

use crate::{
    client::{AGENT_MEMO, LABELS_MEMO, ProcessRow, THREAD_MEMO},
    wire::{
        AgentInterruption, RunMode, RunProblem, RunStatus,
        event::{NoteKind, RUN_NOTE_MEMO, RunNote},
        ready_made::CHAT_WORKFLOW,
    },
};

/// The search attribute in which the server reports workflow tasks that fail again and again.
const REPORTED_PROBLEMS: &str = "TemporalReportedProblems";

/// Kind of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    Run,
    Chat,
}

/// A run as the API shows it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(in crate::http) struct Row {
    /// Id of the run, which is its workflow's.
    pub(in crate::http) id: String,
    pub(super) kind: Kind,
    pub(in crate::http) mode: RunMode,
    /// Name of the agent that the run began with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::http) agent: Option<String>,
    /// Id of the stored conversation that the run continues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) thread: Option<String>,
    pub(in crate::http) status: RunStatus,
    /// Id of the latest execution (Temporal's run id).
    pub(in crate::http) execution: String,
    /// `true` for a chat that waits for a message, and answers none.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_idle: bool,
    /// `true` if the workflow has not continued as new.
    #[serde(skip)]
    pub(super) is_first_execution: bool,
    /// RFC 3339, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) started_at: Option<String>,
    /// RFC 3339, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ended_at: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) labels: BTreeMap<String, String>,
    /// The reason why the run makes no progress; absent if it does, or waits as it should.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::http) problem: Option<RunProblem>,
    /// The description of the workflow, if the row was made of it.
    #[serde(skip)]
    pub(super) described: Option<Arc<WorkflowExecutionDescription>>,
    /// The cause of the problem that the server reports in lists.
    #[serde(skip)]
    pub(in crate::http) reported: Option<String>,
    /// `true` if the run has paused at least once, and may wait now: the state of the workflow says
    /// whether it does.
    #[serde(skip)]
    pub(in crate::http) has_paused: bool,
    /// The calls that wait, of a task of a process.
    #[serde(skip)]
    pub(super) questions: Option<Vec<AgentInterruption>>,
    /// The result of a run that has ended and that only the database has.
    #[serde(skip)]
    pub(super) stored: Option<StoredResult>,
}

/// The result of a run in a database.
#[derive(Clone, Debug)]
pub(super) struct StoredResult {
    pub(super) output: Option<Value>,
    /// The message of the failure.
    pub(super) failure: Option<String>,
}

impl Row {
    /// Returns the row of a workflow.
    pub(super) fn of(workflow: &WorkflowExecution) -> Self {
        Self::of_info(workflow.raw(), &workflow.memo())
    }

    /// Returns the row of a workflow that was described.
    pub(super) fn of_description(described: WorkflowExecutionDescription) -> Option<Self> {
        let row = Self::of_info(described.raw().workflow_execution_info.as_ref()?, &described.memo());
        Some(Self { described: Some(Arc::new(described)), ..row })
    }

    /// Returns the row of a workflow with this memo.
    fn of_info(raw: &WorkflowExecutionInfo, memo: &Memo) -> Self {
        let note = memo.get::<RunNote>(RUN_NOTE_MEMO).ok().flatten();
        let execution = raw.execution.clone().unwrap_or_default();
        let is_chat = raw.r#type.as_ref().is_some_and(|kind| kind.name == CHAT_WORKFLOW);
        Self {
            id: execution.workflow_id,
            kind: if is_chat { Kind::Chat } else { Kind::Run },
            mode: RunMode::Temporal,
            agent: memo.get(AGENT_MEMO).ok().flatten(),
            thread: memo.get(THREAD_MEMO).ok().flatten(),
            status: status(raw),
            is_idle: false,
            is_first_execution: raw.first_run_id == execution.run_id,
            execution: execution.run_id,
            started_at: raw.start_time.as_ref().map(ToString::to_string),
            ended_at: raw.close_time.as_ref().map(ToString::to_string),
            labels: memo.get(LABELS_MEMO).ok().flatten().unwrap_or_default(),
            problem: None,
            described: None,
            reported: reported(raw),
            has_paused: note.is_some_and(|note| matches!(note.note, NoteKind::Paused)),
            questions: None,
            stored: None,
        }
    }

    /// Returns the row of a task of a process.
    pub(super) fn of_task(row: ProcessRow) -> Self {
        let ProcessRow {
            id,
            is_chat,
            agent,
            thread,
            status,
            execution,
            started_at,
            ended_at,
            labels,
            questions,
            outcome,
        } = row;
        let waits = !status.has_ended() && !questions.is_empty();
        let stored = outcome.map(|outcome| match outcome {
            Ok(output) => StoredResult { output: Some(output), failure: None },
            Err(failure) => StoredResult { output: None, failure: Some(failure) },
        });
        Self {
            id,
            kind: if is_chat { Kind::Chat } else { Kind::Run },
            mode: RunMode::InProcess,
            agent,
            thread,
            status: if waits { RunStatus::Waiting } else { status },
            execution,
            is_idle: false,
            is_first_execution: true,
            started_at: Some(started_at),
            ended_at,
            labels,
            problem: None,
            described: None,
            reported: None,
            has_paused: waits,
            questions: Some(questions),
            stored: stored.filter(|_| status.has_ended()),
        }
    }

    /// Returns `true` if the run is a chat.
    pub(in crate::http) fn is_chat(&self) -> bool {
        self.kind == Kind::Chat
    }

    /// Returns `true` if the workflow has not ended.
    pub(in crate::http) fn is_open(&self) -> bool {
        !self.status.has_ended()
    }
}

fn status(raw: &WorkflowExecutionInfo) -> RunStatus {
    match raw.status() {
        WorkflowExecutionStatus::Completed => RunStatus::Completed,
        WorkflowExecutionStatus::Failed => RunStatus::Failed,
        WorkflowExecutionStatus::Canceled => RunStatus::Cancelled,
        WorkflowExecutionStatus::Terminated => RunStatus::Terminated,
        WorkflowExecutionStatus::TimedOut => RunStatus::TimedOut,
        // Its start and its first task, which no worker has taken.
        _ if raw.history_length > 0 && raw.history_length <= 2 => RunStatus::Queued,
        _ => RunStatus::Running,
    }
}

/// Returns the cause of the problem that the server reports, in its words:
/// `["category=WorkflowTaskFailed", "cause=WorkflowTaskFailedCauseNonDeterministicError"]`.
fn reported(raw: &WorkflowExecutionInfo) -> Option<String> {
    let value = raw.search_attributes.as_ref()?.indexed_fields.get(REPORTED_PROBLEMS)?;
    let words: Vec<String> = serde_json::from_slice(&value.data).ok()?;
    let cause = words.iter().find_map(|word| word.strip_prefix("cause=")).or(words.first().map(|word| &**word))?;
    Some(cause.trim_start_matches("WorkflowTaskFailedCause").to_owned())
}

#[cfg(test)]
mod tests;
