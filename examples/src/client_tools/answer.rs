//! The client: it executes the call, and supplies its output.

use temporal_agents::{
    client::AgentHandle,
    wire::{DecisionAnswer, InterruptionKind},
};
use temporalio_client::Client;

/// Supplies this output for the first call that waits for one.
///
/// # Errors
/// The workflow does not answer the query, or does not wait for an output.
pub async fn answer(client: &Client, workflow_id: &str, output: &str) -> anyhow::Result<DecisionAnswer> {
    let workflow = AgentHandle::new(client, workflow_id);
    let waits = workflow.state().await?.interruptions;
    let Some(call) = waits.iter().find(|call| call.kind == InterruptionKind::Output) else {
        anyhow::bail!("{workflow_id} waits for no output, but for {waits:?}");
    };
    Ok(workflow.supply_output(&call.id, output).await?)
}
