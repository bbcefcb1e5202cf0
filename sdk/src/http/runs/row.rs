//! A run in lists: its id, its agent and its status.

use std::{collections::BTreeMap, sync::Arc, time::SystemTime};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use temporal_agents_core::wire::{
    RunMode, RunProblem, RunStatus,
    ready_made::{AGENT_WORKFLOW, CHAT_WORKFLOW},
};
use temporalio_client::{Memo, WorkflowExecutionDescription};
use temporalio_common::protos::temporal::api::{
    enums::v1::WorkflowExecutionStatus, workflow::v1::WorkflowExecutionInfo,
};

use super::recorded::{Recorded, digest};
use crate::client::{AGENT_MEMO, LABELS_MEMO, ProcessRow, THREAD_MEMO, TITLE_MEMO};

/// The search attribute in which the server reports workflow tasks that fail again and again.
const REPORTED_PROBLEMS: &str = "TemporalReportedProblems";

/// Kind of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    Run,
    Chat,
    /// A workflow of another type, which runs agents or waits for an approval.
    Workflow,
}

/// A run as the API shows it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(in crate::http) struct Row {
    /// Id of the run, which is its workflow's.
    pub(in crate::http) id: String,
    pub(super) kind: Kind,
    /// What a person recognises the run by: its summary, the first line of its input, or else the name
    /// of its agent.
    pub(super) title: String,
    /// Type of the workflow, if its kind is `workflow`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) workflow_type: Option<String>,
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
    pub(in crate::http) is_idle: bool,
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
    pub(in crate::http) labels: BTreeMap<String, String>,
    /// The reason why the run makes no progress; absent if it does, or waits as it should.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::http) problem: Option<RunProblem>,
    /// The description of the workflow, if the row was made of it.
    #[serde(skip)]
    pub(super) described: Option<Arc<WorkflowExecutionDescription>>,
    /// The cause of the problem that the server reports in lists.
    #[serde(skip)]
    pub(in crate::http) reported: Option<String>,
    /// The open questions.
    #[serde(skip)]
    pub(in crate::http) recorded: Recorded,
    /// A digest of the memo with the questions: another digest means other questions.
    #[serde(skip)]
    pub(in crate::http) digest: Option<u64>,
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
    /// Returns the row of a workflow that was described.
    pub(super) fn of_description(described: WorkflowExecutionDescription) -> Option<Self> {
        let row = Self::of_info(described.raw().workflow_execution_info.as_ref()?, &described.memo());
        Some(Self { described: Some(Arc::new(described)), ..row })
    }

    /// Returns the row of a workflow with this memo.
    pub(super) fn of_info(raw: &WorkflowExecutionInfo, memo: &Memo) -> Self {
        let execution = raw.execution.clone().unwrap_or_default();
        let workflow_type = raw.r#type.clone().unwrap_or_default().name;
        let mut status = status(raw);
        // A workflow that has ended waits for nobody, whatever its memo contains.
        let recorded = if status.has_ended() { Recorded::All(Vec::new()) } else { Recorded::of_memo(memo) };
        if recorded.waits() {
            status = RunStatus::Waiting;
        }
        let agent: Option<String> = memo.get(AGENT_MEMO).ok().flatten();
        let title = memo.get(TITLE_MEMO).ok().flatten();
        let (kind, workflow_type) = kind_of(workflow_type);
        Self {
            title: title_of(title, agent.as_ref(), workflow_type.as_ref(), &execution.workflow_id),
            id: execution.workflow_id,
            kind,
            workflow_type,
            mode: RunMode::Temporal,
            agent,
            thread: memo.get(THREAD_MEMO).ok().flatten(),
            status,
            is_idle: false,
            is_first_execution: raw.first_run_id == execution.run_id,
            execution: execution.run_id,
            started_at: raw.start_time.as_ref().map(ToString::to_string),
            ended_at: raw.close_time.as_ref().map(ToString::to_string),
            labels: memo.get(LABELS_MEMO).ok().flatten().unwrap_or_default(),
            problem: None,
            described: None,
            reported: reported(raw),
            recorded,
            digest: Some(digest(raw)),
            stored: None,
        }
    }

    /// Returns the row of a task of a process.
    pub(super) fn of_task(row: ProcessRow) -> Self {
        let ProcessRow {
            id,
            is_chat,
            is_left,
            agent,
            title,
            thread,
            status,
            execution,
            started_at,
            ended_at,
            labels,
            questions,
            outcome,
            place: _,
        } = row;
        let recorded = if status.has_ended() { Recorded::All(Vec::new()) } else { Recorded::of_task(questions) };
        let stored = outcome.map(|outcome| match outcome {
            Ok(output) => StoredResult { output: Some(output), failure: None },
            Err(failure) => StoredResult { output: None, failure: Some(failure) },
        });
        Self {
            title: title_of(title, agent.as_ref(), None, &id),
            id,
            kind: if is_chat { Kind::Chat } else { Kind::Run },
            workflow_type: None,
            mode: RunMode::InProcess,
            agent,
            thread,
            status: if recorded.waits() { RunStatus::Waiting } else { status },
            execution,
            is_idle: is_chat && is_left && !status.has_ended() && !recorded.waits(),
            is_first_execution: true,
            started_at: Some(started_at),
            ended_at,
            labels,
            problem: None,
            described: None,
            reported: None,
            recorded,
            digest: None,
            stored: stored.filter(|_| status.has_ended()),
        }
    }

    /// Returns the start, as a key to sort by.
    pub(super) fn started(&self) -> Option<SystemTime> {
        let time: prost_types::Timestamp = self.started_at.as_deref()?.parse().ok()?;
        SystemTime::try_from(time).ok()
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

/// Returns the kind of a workflow, and its type if the kind does not say it.
pub(super) fn kind_of(workflow_type: String) -> (Kind, Option<String>) {
    match &*workflow_type {
        AGENT_WORKFLOW => (Kind::Run, None),
        CHAT_WORKFLOW => (Kind::Chat, None),
        _ => (Kind::Workflow, Some(workflow_type)),
    }
}

/// Returns what a person recognises a run by.
pub(super) fn title_of(
    title: Option<String>,
    agent: Option<&String>,
    workflow_type: Option<&String>,
    id: &str,
) -> String {
    title.or_else(|| agent.or(workflow_type).cloned()).unwrap_or_else(|| id.to_owned())
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
