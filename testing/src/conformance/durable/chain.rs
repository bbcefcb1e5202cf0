//! The histories of a workflow that continues as new.

use temporalio_client::{Client, errors::WorkflowInteractionError};
use temporalio_common::protos::temporal::api::history::v1::history_event::Attributes;

use crate::history::{self, History};

/// The histories of all runs of a workflow, from this run on; without one, of the latest.
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

/// The run that a history was continued in.
fn next_run(history: &History) -> Option<String> {
    history.events.iter().rev().find_map(|event| match &event.attributes {
        Some(Attributes::WorkflowExecutionContinuedAsNewEventAttributes(attributes)) => {
            Some(attributes.new_execution_run_id.clone())
        }
        _ => None,
    })
}

/// Why a workflow task of a history failed, where one did.
pub(super) fn failed_task(history: &History) -> Option<String> {
    history.events.iter().rev().find_map(|event| match &event.attributes {
        Some(Attributes::WorkflowTaskFailedEventAttributes(attributes)) => {
            Some(attributes.failure.as_ref().map(|failure| failure.message.clone()).unwrap_or_default())
        }
        _ => None,
    })
}
