//! The workflows of a service as the server lists them: those that have not ended by their start,
//! then the others by their end, the latest first.
//!
//! # Design
//! **A place is a time,** and the executions of this time that were listed already. It needs nothing
//! from the server that listed them, and a workflow that ends meanwhile moves no other one. One that
//! ends while a caller turns the pages may be listed twice, and is never left out.

use std::collections::VecDeque;

use prost_types::Timestamp;
use serde::{Deserialize, Serialize};
use temporal_agents_core::wire::RunStatus;
use temporalio_client::{Client, Memo, NamespacedClient, grpc::WorkflowService};
use temporalio_common::{
    data_converters::{SerializationContextData, WorkflowSerializationContext},
    protos::temporal::api::{
        common::v1::Memo as WireMemo,
        workflow::v1::WorkflowExecutionInfo,
        workflowservice::v1::{ListWorkflowExecutionsRequest, ListWorkflowExecutionsResponse},
    },
};

use super::row::Row;
use crate::{client::WorkflowRuns, http::error::ApiError};

/// Maximum number of workflows that the server returns together.
const MAX_PAGE: usize = 500;

/// A place in the list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct WorkflowPlace {
    /// `true` among the workflows that have ended.
    #[serde(default)]
    has_ended: bool,
    /// Time of the start or the end, in seconds since 1970 and nanoseconds; absent at the beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    time: Option<(i64, i32)>,
    /// The executions at this time that were listed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    listed: Vec<String>,
}

/// The workflows that are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    All,
    /// Those that have not ended.
    Open,
    /// Those that have ended in this way.
    Ended(RunStatus),
}

/// A reader of the list.
pub(super) struct Workflows<'w> {
    runs: &'w WorkflowRuns,
    /// The condition on types and task queue.
    condition: String,
    wanted: Wanted,
    place: WorkflowPlace,
    /// The time of the place at which the reader began.
    from: Option<(i64, i32)>,
    page_size: usize,
    /// The query of the pages that are read, and the token of the next one; `None` before the first.
    pages: Option<(String, Vec<u8>)>,
    read: VecDeque<WorkflowExecutionInfo>,
}

impl<'w> Workflows<'w> {
    /// Returns a reader of the workflows of these types after this place. The first page has about
    /// as many as are wanted.
    pub(super) fn new(
        runs: &'w WorkflowRuns,
        types: &[String],
        wanted: Wanted,
        mut place: WorkflowPlace,
        count: usize,
    ) -> Self {
        place.has_ended |= matches!(wanted, Wanted::Ended(_));
        let types: Vec<String> = types.iter().map(|name| quoted(name)).collect();
        let condition = format!("WorkflowType IN ({}) AND TaskQueue = {}", types.join(", "), quoted(&runs.task_queue));
        let page_size = count.saturating_add(1).min(MAX_PAGE);
        let from = place.time;
        Self { runs, condition, wanted, place, from, page_size, pages: None, read: VecDeque::new() }
    }

    /// Returns the place after the latest row.
    pub(super) fn place(&self) -> &WorkflowPlace {
        &self.place
    }

    /// Returns the next row; `None` after the last.
    ///
    /// # Errors
    /// 502 if the server refuses the request.
    pub(super) async fn next(&mut self) -> Result<Option<Row>, ApiError> {
        loop {
            if let Some(info) = self.read.pop_front() {
                if self.pass(&info) {
                    return Ok(Some(Row::of_info(&info, &memo_of(&self.runs.client, info.memo.clone()).await)));
                }
                continue;
            }
            if self.pages.as_ref().is_some_and(|(_, token)| token.is_empty()) {
                if self.place.has_ended || self.wanted == Wanted::Open {
                    return Ok(None);
                }
                self.place = WorkflowPlace { has_ended: true, ..WorkflowPlace::default() };
                (self.from, self.pages) = (None, None);
            }
            self.read_page().await?;
        }
    }

    /// Moves the place behind a workflow. Returns `false` if it was there already.
    fn pass(&mut self, info: &WorkflowExecutionInfo) -> bool {
        let time = if self.place.has_ended { info.close_time.as_ref() } else { info.start_time.as_ref() };
        let time = time.map(|time| (time.seconds, time.nanos));
        let execution = info.execution.as_ref().map(|execution| execution.run_id.clone()).unwrap_or_default();
        if self.from.is_some() && time > self.from {
            return false;
        }
        if self.place.time != time {
            (self.place.time, self.place.listed) = (time, Vec::new());
        } else if self.place.listed.contains(&execution) {
            return false;
        }
        self.place.listed.push(execution);
        true
    }

    async fn read_page(&mut self) -> Result<(), ApiError> {
        let (query, token) = match self.pages.take() {
            None => (self.query(), Vec::new()),
            Some((query, token)) => {
                // More are looked at than are wanted.
                self.page_size = MAX_PAGE;
                (query, token)
            }
        };
        let request = ListWorkflowExecutionsRequest {
            namespace: self.runs.client.namespace(),
            page_size: i32::try_from(self.page_size).unwrap_or(i32::MAX),
            next_page_token: token,
            query: query.clone(),
        };
        let page = list(&self.runs.client, request).await?;
        self.pages = Some((query, page.next_page_token));
        self.read = page.executions.into();
        Ok(())
    }

    fn query(&self) -> String {
        let status = match self.wanted {
            _ if !self.place.has_ended => "ExecutionStatus = 'Running'",
            Wanted::Ended(status) => ended_as(status),
            // Executions that were followed by another are no runs of their own.
            Wanted::All | Wanted::Open => "ExecutionStatus != 'Running' AND ExecutionStatus != 'ContinuedAsNew'",
        };
        let name = if self.place.has_ended { "CloseTime" } else { "StartTime" };
        // The server may compare times that are less precise; `pass` skips what was listed.
        let until =
            self.place.time.map(|(seconds, nanos)| Timestamp { seconds: seconds + i64::from(nanos > 0), nanos: 0 });
        let until = until.map(|time| format!(" AND {name} <= '{time}'")).unwrap_or_default();
        format!("{} AND {status}{until}", self.condition)
    }
}

/// Returns those of the ids that workflows of the server have, of any type.
///
/// # Errors
/// 502 if the server refuses the request.
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(super) async fn existing(client: &Client, ids: &[&str]) -> Result<std::collections::BTreeSet<String>, ApiError> {
    let mut found = std::collections::BTreeSet::new();
    if ids.is_empty() {
        return Ok(found);
    }
    let ids: Vec<String> = ids.iter().map(|id| quoted(id)).collect();
    // Of a workflow that was deleted, executions that were followed by another may be left.
    let query = format!("WorkflowId IN ({}) AND ExecutionStatus != 'ContinuedAsNew'", ids.join(", "));
    let mut next_page_token = Vec::new();
    loop {
        let (namespace, query) = (client.namespace(), query.clone());
        let request = ListWorkflowExecutionsRequest { namespace, page_size: 0, next_page_token, query };
        let page = list(client, request).await?;
        found.extend(page.executions.into_iter().filter_map(|info| Some(info.execution?.workflow_id)));
        if page.next_page_token.is_empty() {
            return Ok(found);
        }
        next_page_token = page.next_page_token;
    }
}

async fn list(
    client: &Client,
    request: ListWorkflowExecutionsRequest,
) -> Result<ListWorkflowExecutionsResponse, ApiError> {
    let answer = WorkflowService::list_workflow_executions(&mut client.clone(), tonic::Request::new(request)).await;
    Ok(answer.map_err(ApiError::server)?.into_inner())
}

/// Returns the memo of a workflow, decoded. A value that cannot be decoded stays as it is, and
/// cannot be read: it does not hide the others.
async fn memo_of(client: &Client, memo: Option<WireMemo>) -> Memo {
    let converter = client.data_converter();
    let context = SerializationContextData::Workflow(WorkflowSerializationContext::new());
    let mut memo = memo.unwrap_or_default();
    #[expect(clippy::iter_over_hash_type, reason = "each value is decoded by itself")]
    for payload in memo.fields.values_mut() {
        if let Ok(decoded) = converter.codec().decode(&context, vec![payload.clone()]).await
            && let Some(decoded) = decoded.into_iter().next()
        {
            *payload = decoded;
        }
    }
    Memo::from_raw(Some(memo), converter.payload_converter().clone(), context)
}

/// Returns the condition on the end of a workflow.
fn ended_as(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Completed => "ExecutionStatus = 'Completed'",
        RunStatus::Failed => "ExecutionStatus = 'Failed'",
        RunStatus::Cancelled => "ExecutionStatus = 'Canceled'",
        RunStatus::Terminated => "ExecutionStatus = 'Terminated'",
        RunStatus::TimedOut => "ExecutionStatus = 'TimedOut'",
        _ => "ExecutionStatus != 'Running' AND ExecutionStatus != 'ContinuedAsNew'",
    }
}

/// Returns a string of a query.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

#[cfg(test)]
mod tests;
