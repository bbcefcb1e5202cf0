//! The row of a workflow that was found.

use std::time::SystemTime;

use serde::de::DeserializeOwned;
use temporal_agents_core::wire::{RunMode, RunStatus};
use temporalio_client::{Client, NamespacedClient};
use temporalio_common::protos::temporal::api::{
    common::v1::Memo, enums::v1::WorkflowExecutionStatus, workflow::v1::WorkflowExecutionInfo,
};

use super::{Shared, follow::FollowError};
use crate::{
    client::{AGENT_MEMO, LABELS_MEMO, RunEventsError, THREAD_MEMO, TITLE_MEMO, described, memo_value},
    store::sql::runs::{RunRow, millis},
};

/// A workflow as the server describes it.
pub(super) struct Described {
    pub(super) info: WorkflowExecutionInfo,
    /// Temporal's run id of the first execution of its chain.
    pub(super) first: String,
    pub(super) execution: String,
}

/// Describes an execution of a workflow, or the latest one. Returns `None` if there is none.
pub(super) async fn describe(
    client: &Client,
    workflow_id: &str,
    execution: Option<&str>,
) -> Result<Option<Described>, FollowError> {
    let described = match described(client, workflow_id, execution).await {
        Ok(described) => described,
        Err(RunEventsError::NotFound { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let info = described.workflow_execution_info.unwrap_or_default();
    let execution = info.execution.clone().unwrap_or_default().run_id;
    let first = Some(info.first_run_id.clone()).filter(|id| !id.is_empty()).unwrap_or_else(|| execution.clone());
    Ok(Some(Described { info, first, execution }))
}

/// Returns the row of a workflow that has no events yet.
pub(super) async fn row_of(shared: &Shared, described: &Described) -> Result<RunRow, FollowError> {
    let Described { info, first, execution } = described;
    let id = info.execution.clone().unwrap_or_default().workflow_id;
    let mut row = RunRow::new(first, id, RunMode::Temporal);
    row.namespace = shared.client.namespace();
    row.workflow_type = info.r#type.clone().unwrap_or_default().name;
    row.task_queue.clone_from(&info.task_queue);
    row.agent = memo(&shared.client, info.memo.as_ref(), AGENT_MEMO).await;
    row.thread = memo(&shared.client, info.memo.as_ref(), THREAD_MEMO).await;
    row.labels = memo(&shared.client, info.memo.as_ref(), LABELS_MEMO).await.unwrap_or_default();
    row.title = memo(&shared.client, info.memo.as_ref(), TITLE_MEMO).await;
    row.execution.clone_from(execution);
    row.status = if is_queued(info) { RunStatus::Queued } else { RunStatus::Running };
    // The run began with the first of its executions, if the server still has it.
    let start = if first == execution {
        info.start_time
    } else {
        let first = describe(&shared.client, &row.id, Some(first)).await?;
        first.and_then(|first| first.info.start_time).or(info.start_time)
    };
    if let Some(start) = start.and_then(|start| SystemTime::try_from(start).ok()) {
        row.started_at = millis(start);
    }
    Ok(row)
}

/// Returns `true` if no worker has taken the first task.
fn is_queued(info: &WorkflowExecutionInfo) -> bool {
    info.status() == WorkflowExecutionStatus::Running && info.history_length <= 2
}

/// Returns a value of a memo; `None` if it is absent, or of another form.
async fn memo<T: DeserializeOwned>(client: &Client, memo: Option<&Memo>, key: &str) -> Option<T> {
    let payload = memo?.fields.get(key)?.clone();
    serde_json::from_value(memo_value(client, payload).await).ok()
}
