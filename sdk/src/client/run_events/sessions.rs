//! The facts of the agentic sessions that are under way, from the checkpoints in their heartbeats.

use serde_json::Value;
use temporalio_client::{Client, NamespacedClient};
use temporalio_common::{
    data_converters::{ActivitySerializationContext, SerializationContextData},
    protos::temporal::api::common::v1::Payloads,
};

use super::{RunEventsError, pages::described};
use crate::{
    events::whole,
    wire::{
        RunEvent, SessionCheckpoint, decode,
        session_checkpoint::{SESSION_FORMAT, SessionRun},
    },
};

/// Returns the facts of all sessions of the workflow that are under way.
///
/// # Errors
/// [`RunEventsError`] when the server refuses the request.
pub(super) async fn sessions(client: &Client, workflow_id: &str) -> Result<Vec<RunEvent>, RunEventsError> {
    let mut facts = Vec::new();
    for activity in described(client, workflow_id, None).await?.pending_activities {
        if let Some(details) = activity.heartbeat_details
            && let Some(checkpoint) = checkpoint(client, details).await
        {
            facts.extend(facts_of(&checkpoint));
        }
    }
    Ok(facts)
}

/// Decodes the details of a heartbeat; `None` if they are not a checkpoint that this build reads.
async fn checkpoint(client: &Client, details: Payloads) -> Option<SessionCheckpoint> {
    let context = SerializationContextData::Activity(ActivitySerializationContext::new());
    let json: Value = client.data_converter().from_payloads(&context, details.payloads).await.ok()?;
    let is_ours = json.get("format").and_then(Value::as_str) == Some(SESSION_FORMAT);
    // A checkpoint in a store is not read here: a store is for the workers.
    if is_ours && json.get("kept").is_none() { decode("session checkpoint", json).ok() } else { None }
}

fn facts_of(checkpoint: &SessionCheckpoint) -> Vec<RunEvent> {
    let of_run = |run: &SessionRun| -> Vec<RunEvent> {
        let Some(facts) = &run.facts else { return Vec::new() };
        let whole = |fact| whole(fact, &facts.run, checkpoint.version, run.state.as_deref());
        facts.facts.iter().filter_map(whole).collect()
    };
    checkpoint.runs.iter().flat_map(of_run).collect()
}
