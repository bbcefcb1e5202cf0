//! The facts of the agentic sessions that are under way, from the checkpoints in their heartbeats.

use serde_json::Value;
use temporal_agents_core::wire::{
    RunEvent, SessionCheckpoint, decode,
    session_checkpoint::{SESSION_FORMAT, SessionRun},
};
use temporalio_client::{Client, NamespacedClient};
use temporalio_common::{
    data_converters::{ActivitySerializationContext, SerializationContextData},
    protos::temporal::api::common::v1::Payloads,
};

use super::{RunEventsError, pages::described};
use crate::events::restored;

/// Returns the facts of all sessions of the workflow that are under way.
///
/// # Errors
/// [`RunEventsError`] when the server refuses the request.
pub(super) async fn session_facts(client: &Client, workflow_id: &str) -> Result<Vec<RunEvent>, RunEventsError> {
    let mut facts = Vec::new();
    let mut activities = described(client, workflow_id, None).await?.pending_activities;
    // The server has no order of them.
    activities.sort_by(|one, other| one.activity_id.cmp(&other.activity_id));
    for activity in activities {
        if let Some(details) = activity.heartbeat_details
            && let Some(checkpoint) = checkpoint(client, details).await
        {
            facts.extend(facts_of(&checkpoint));
        }
    }
    Ok(facts)
}

/// Decodes the details of a heartbeat as JSON; `None` if the client cannot decode them.
pub(super) async fn decoded(client: &Client, details: Payloads) -> Option<Value> {
    let context = SerializationContextData::Activity(ActivitySerializationContext::new());
    client.data_converter().from_payloads(&context, details.payloads).await.ok()
}

/// Decodes the details of a heartbeat; `None` if they are not a checkpoint that this build reads.
async fn checkpoint(client: &Client, details: Payloads) -> Option<SessionCheckpoint> {
    let json = decoded(client, details).await?;
    let is_ours = json.get("format").and_then(Value::as_str) == Some(SESSION_FORMAT);
    // A checkpoint in a store is not read here: a store is for the workers.
    if is_ours && json.get("kept").is_none() { decode("session checkpoint", json).ok() } else { None }
}

fn facts_of(checkpoint: &SessionCheckpoint) -> Vec<RunEvent> {
    let of_run = |run: &SessionRun| {
        let facts = run.facts.as_ref()?;
        Some(restored(facts, checkpoint.version, run.state.as_deref()))
    };
    checkpoint.runs.iter().filter_map(of_run).flatten().collect()
}
