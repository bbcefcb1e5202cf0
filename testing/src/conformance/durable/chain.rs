//! The histories of a workflow that continues as new.

use temporalio_client::{Client, errors::WorkflowInteractionError};
use temporalio_common::protos::temporal::api::history::v1::history_event::Attributes;

use crate::history::{self, History};

/// Returns the histories of all runs of a workflow, beginning with `first_run`; without
/// `first_run`, only the history of the latest run.
pub(super) async fn fetch(
    client: &Client,
    workflow_id: &str,
    first_run: Option<String>,
) -> Result<Vec<History>, WorkflowInteractionError> {
    let mut histories = Vec::new();
    let mut run = first_run;
    loop {
        let history = history::fetch(client, workflow_id, run.as_deref()).await?;
        run = next_run(&history);
        histories.push(history);
        if run.is_none() {
            return Ok(histories);
        }
    }
}

/// Returns the id of the run that continues a history as new.
fn next_run(history: &History) -> Option<String> {
    history.events.iter().rev().find_map(|event| match &event.attributes {
        Some(Attributes::WorkflowExecutionContinuedAsNewEventAttributes(attributes)) => {
            Some(attributes.new_execution_run_id.clone())
        }
        _ => None,
    })
}

/// Returns the message of the last failed workflow task of a history, if one failed.
pub(super) fn failed_task(history: &History) -> Option<String> {
    history.events.iter().rev().find_map(|event| match &event.attributes {
        Some(Attributes::WorkflowTaskFailedEventAttributes(attributes)) => {
            Some(attributes.failure.as_ref().map(|failure| failure.message.clone()).unwrap_or_default())
        }
        _ => None,
    })
}
