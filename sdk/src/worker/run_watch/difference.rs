//! Explains why a replay has failed, by the history, and logs it.

use std::time::Duration;

use temporalio_client::{
    Client, NamespacedClient, UntypedWorkflowHandle, WorkflowExecutionInfo, WorkflowFetchHistoryOptions,
};
use temporalio_common::protos::temporal::api::{
    enums::v1::WorkflowTaskFailedCause,
    history::v1::{History, history_event::Attributes},
};
use tokio::{sync::Semaphore, time::sleep};

use super::WatchedRun;
use crate::replay::{Journal, ReplayChange, explain, read};

/// Time after which the server knows that the workflow task has failed.
const REPORTED: Duration = Duration::from_secs(1);
/// Number of histories that are read at the same time.
const MAX_READERS: usize = 2;

/// What helps, in the log.
const REMEDY: &str = "nothing is lost: roll back, or deploy a build that keeps what open runs have recorded \
                      (ctx.patched, AgentSet::version); see the chapter `deploying` of the guide";

/// Explains failed replays, a few at a time.
pub(super) struct Differences(Semaphore);

impl Default for Differences {
    fn default() -> Self {
        Self(Semaphore::new(MAX_READERS))
    }
}

impl Differences {
    /// Logs why the replay of a run has failed; `times` is how often it has. Returns `false` if the
    /// next failure is to be looked at again, since it is not certain that this is one: a worker that
    /// shuts down also drops workflows.
    pub(super) async fn log(&self, client: Option<&Client>, run: &WatchedRun, journal: &Journal, times: u32) -> bool {
        let Ok(_place) = self.0.acquire().await else { return false };
        sleep(REPORTED).await;
        let Some(client) = client else {
            return times > 1 && warn(run, None, "ReplayCheck of temporal-agents-testing says what has changed");
        };
        let history = match history(client, run).await {
            Ok(history) => history,
            Err(error) => {
                tracing::debug!(workflow_id = run.workflow_id, error, "a history could not be read");
                return false;
            }
        };
        if has_ended(&history) {
            // It was replayed for a query that it does not have.
            return true;
        }
        let failure = failed_task(&history);
        if failure.is_none() && times == 1 {
            return false;
        }
        let record = read(&history, client.data_converter()).await;
        match (explain(&record, &journal.entries()), failure) {
            (Some(change), _) => warn(run, Some(&change), &change.to_string()),
            // The SDK fails a workflow that was woken by others in the same way: see `ForeignWake`.
            (None, Some(failure)) => !failure.contains("Nondeterministic future") && warn(run, None, &failure),
            (None, None) => false,
        }
    }
}

fn warn(run: &WatchedRun, change: Option<&ReplayChange>, what: &str) -> bool {
    let WatchedRun { namespace: _, workflow_id, run_id, workflow_type } = run;
    tracing::warn!(
        workflow_id,
        run_id,
        workflow_type,
        agent = change.and_then(|change| change.agent.as_deref()),
        turn = change.and_then(|change| change.turn),
        "this build does not reproduce the history of the run: {what}; {REMEDY}"
    );
    true
}

async fn history(client: &Client, run: &WatchedRun) -> Result<History, String> {
    let workflow = WorkflowExecutionInfo::builder()
        .namespace(&*run.namespace)
        .workflow_id(&*run.workflow_id)
        .run_id(&*run.run_id)
        .build();
    let handle: UntypedWorkflowHandle<Client> = workflow.bind_untyped(client.clone());
    let pages = handle.fetch_history(WorkflowFetchHistoryOptions::default());
    Ok(History { events: pages.into_events().await.map_err(|error| error.to_string())? })
}

/// Returns `true` if the workflow has ended.
fn has_ended(history: &History) -> bool {
    let latest = history.events.last().and_then(|event| event.attributes.as_ref());
    matches!(
        latest,
        Some(
            Attributes::WorkflowExecutionCompletedEventAttributes(_)
                | Attributes::WorkflowExecutionFailedEventAttributes(_)
                | Attributes::WorkflowExecutionTimedOutEventAttributes(_)
                | Attributes::WorkflowExecutionCanceledEventAttributes(_)
                | Attributes::WorkflowExecutionTerminatedEventAttributes(_)
                | Attributes::WorkflowExecutionContinuedAsNewEventAttributes(_)
        )
    )
}

/// Returns the message of the latest workflow task, if it has failed because of its replay.
fn failed_task(history: &History) -> Option<String> {
    let latest = history.events.iter().rev().find_map(|event| match &event.attributes {
        Some(Attributes::WorkflowTaskFailedEventAttributes(failed)) => Some(Some(failed)),
        Some(Attributes::WorkflowTaskCompletedEventAttributes(_)) => Some(None),
        _ => None,
    });
    let failed = latest??;
    (failed.cause() == WorkflowTaskFailedCause::NonDeterministicError)
        .then(|| failed.failure.clone().unwrap_or_default().message)
}
