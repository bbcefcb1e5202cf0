//! What the server holds of a session: the details of its activity's last heartbeat.

use serde_json::Value;
use temporal_agents::wire::SessionCheckpoint;
use temporal_agents_core::wire::session_checkpoint::EffectAnswer;
use temporal_agents_examples::stage::server::pending;
use temporalio_client::Client;

/// The details of the last heartbeat of a workflow's only activity, as JSON; null where there are none.
pub(crate) async fn details(client: &Client, workflow_id: &str) -> anyhow::Result<Value> {
    let payloads = pending(client, workflow_id).await?.pop().and_then(|activity| activity.heartbeat_details);
    match payloads.and_then(|mut payloads| payloads.payloads.pop()) {
        Some(payload) if !payload.data.is_empty() => Ok(serde_json::from_slice(&payload.data)?),
        _ => Ok(Value::Null),
    }
}

/// The checkpoint among them.
pub(crate) async fn checkpoint(client: &Client, workflow_id: &str) -> anyhow::Result<Option<SessionCheckpoint>> {
    Ok(serde_json::from_value(details(client, workflow_id).await?)?)
}

/// How many answers of models it has, those in the states of its runs included.
pub(crate) fn model_answers(checkpoint: &SessionCheckpoint) -> usize {
    let since = answers(checkpoint).filter(|answer| matches!(answer, EffectAnswer::Model { .. })).count();
    usize::try_from(checkpoint.turns).expect("a few turns") + since
}

/// How many answers of tools it has, those in the states of its runs left out.
pub(crate) fn tool_answers(checkpoint: &SessionCheckpoint) -> usize {
    answers(checkpoint).filter(|answer| matches!(answer, EffectAnswer::Tool { .. })).count()
}

fn answers(checkpoint: &SessionCheckpoint) -> impl Iterator<Item = &EffectAnswer> {
    checkpoint.runs.iter().flat_map(|run| run.answers.values())
}
