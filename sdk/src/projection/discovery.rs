//! Finds workflows: by visibility, and in the rows of those that had not ended.
//!
//! # Design
//! **Visibility lags, and forgets.** Each look covers a part of the time before the previous one,
//! and complete looks follow in longer intervals. A workflow that was found once is followed by its
//! id, whatever visibility contains: its row leads to it, also in the next process.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use futures::{StreamExt, TryStreamExt};
use temporal_agents_core::tool::BoxError;
use temporalio_client::{WorkflowExecution, WorkflowListOptions};
use temporalio_common::protos::temporal::api::enums::v1::WorkflowExecutionStatus;
use tokio::{
    sync::mpsc::Sender,
    time::{Instant, sleep},
};

use super::Shared;
use crate::events::rfc3339;

/// The interval between two looks at the latest workflows.
const INTERVAL: Duration = Duration::from_secs(1);
/// The interval between two looks at all workflows that run.
const OPEN_INTERVAL: Duration = Duration::from_secs(30);
/// The interval between two looks at all workflows.
const WHOLE_INTERVAL: Duration = Duration::from_mins(10);
/// The time by which a look overlaps with the previous one.
const OVERLAP: Duration = Duration::from_mins(1);
/// The longest pause after a failure.
const LONGEST_PAUSE: Duration = Duration::from_secs(15);
/// Number of workflows that are looked up in the database together.
const PORTION: usize = 200;

/// A workflow that may have events which are not written yet.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) workflow_id: String,
    /// An execution of it (Temporal's run id).
    pub(super) execution: String,
    /// The key of its row, if it has one.
    pub(super) key: Option<String>,
    /// `true` if the execution has ended.
    pub(super) has_ended: bool,
}

/// Looks for workflows and sends them, until the receiver is dropped. Waits when the receiver has
/// enough of them.
pub(super) async fn discover(shared: Arc<Shared>, found: Sender<Candidate>) {
    let mut latest = Latest { shared, found, started: None, closed: None };
    let (mut open_due, mut whole_due) = (Instant::now(), Instant::now());
    let mut pause = INTERVAL;
    while !latest.found.is_closed() {
        let now = Instant::now();
        match latest.look(now >= open_due, now >= whole_due).await {
            Ok(()) => {
                pause = INTERVAL;
                if now >= open_due {
                    open_due = now + OPEN_INTERVAL;
                }
                if now >= whole_due {
                    whole_due = now + WHOLE_INTERVAL;
                }
            }
            Err(error) => {
                tracing::warn!(%error, "the workflows cannot be listed; trying again");
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
        sleep(pause).await;
    }
}

/// The looks so far.
struct Latest {
    shared: Arc<Shared>,
    found: Sender<Candidate>,
    /// The latest start that was found.
    started: Option<SystemTime>,
    /// The latest end that was found.
    closed: Option<SystemTime>,
}

impl Latest {
    /// Looks at the latest workflows, at all that run, or at all.
    async fn look(&mut self, all_open: bool, whole: bool) -> Result<(), BoxError> {
        if all_open {
            self.known().await?;
        }
        let since = |time: Option<SystemTime>, is_all: bool| time.filter(|_| !is_all).map(|time| time - OVERLAP);
        let after = |name: &str, time: Option<SystemTime>| {
            time.map(|time| format!(" AND {name} > '{}'", rfc3339(time))).unwrap_or_default()
        };
        let started = after("StartTime", since(self.started, all_open));
        self.list(&format!("ExecutionStatus = 'Running'{started}")).await?;
        // Executions that were followed by another one are read with their chain.
        let closed = after("CloseTime", since(self.closed, whole));
        self.list(&format!("ExecutionStatus != 'Running' AND ExecutionStatus != 'ContinuedAsNew'{closed}")).await
    }

    /// Sends the workflows whose rows have not ended.
    async fn known(&self) -> Result<(), BoxError> {
        let mut after = String::new();
        loop {
            let rows = self.shared.store.open_workflows(&self.shared.filter, &after, 500).await?;
            let Some(last) = rows.last() else { return Ok(()) };
            after.clone_from(&last.key);
            for row in rows {
                let execution = if row.execution.is_empty() { row.key.clone() } else { row.execution };
                self.send(Candidate { workflow_id: row.id, execution, key: Some(row.key), has_ended: false }).await;
            }
        }
    }

    /// Sends the workflows of a list that the rows do not have with their end.
    async fn list(&mut self, condition: &str) -> Result<(), BoxError> {
        let filter = &self.shared.filter;
        let query = format!(
            "WorkflowType IN ({}) AND TaskQueue IN ({}) AND {condition}",
            quoted(&filter.workflow_types),
            quoted(&filter.task_queues)
        );
        // The latest come first: after a failure, the whole list is read again.
        let (mut started, mut closed) = (self.started, self.closed);
        let found = self.shared.client.list_workflows(query, WorkflowListOptions::default());
        let mut portions = found.chunks(PORTION);
        while let Some(portion) = portions.next().await {
            let portion: Vec<WorkflowExecution> = futures::stream::iter(portion).try_collect().await?;
            let executions: Vec<String> = portion.iter().map(|found| found.run_id().to_owned()).collect();
            let ended = self.shared.store.ended_executions(&executions).await?;
            for workflow in portion {
                let raw = workflow.raw();
                let has_ended = raw.status() != WorkflowExecutionStatus::Running;
                started = started.max(time(raw.start_time.as_ref()));
                closed = closed.max(time(raw.close_time.as_ref()));
                let execution = workflow.run_id().to_owned();
                if !(has_ended && ended.contains(&execution)) {
                    let workflow_id = workflow.id().to_owned();
                    self.send(Candidate { workflow_id, execution, key: None, has_ended }).await;
                }
            }
        }
        (self.started, self.closed) = (started, closed);
        Ok(())
    }

    async fn send(&self, candidate: Candidate) {
        // A receiver that was dropped wants no more.
        self.found.send(candidate).await.ok();
    }
}

fn time<T: Copy>(time: Option<&T>) -> Option<SystemTime>
where
    SystemTime: TryFrom<T>,
{
    time.and_then(|time| SystemTime::try_from(*time).ok())
}

/// Returns a list of strings of a query.
fn quoted(texts: &[String]) -> String {
    let one = |text: &String| format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"));
    texts.iter().map(one).collect::<Vec<_>>().join(", ")
}
