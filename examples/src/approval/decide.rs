//! The approver: reads the pending calls and decides on them, by workflow id alone, from any
//! process.

use temporal_agents::{
    client::AgentHandle,
    wire::{AgentDecision, AgentInterruption, DecisionAnswer, RunStatus, Verdict},
};
use temporalio_client::Client;

/// Decides on all calls that the workflow waits for, and returns each call with the answer to the
/// decision.
///
/// # Errors
/// The workflow does not answer the query, or waits for nothing.
pub async fn decide(
    client: &Client,
    workflow_id: &str,
    verdict: &Verdict,
) -> anyhow::Result<Vec<(AgentInterruption, DecisionAnswer)>> {
    let agent = AgentHandle::new(client, workflow_id);
    let state = agent.state().await?;
    anyhow::ensure!(state.status == RunStatus::Waiting, "{workflow_id} waits for nothing: it is {:?}", state.status);
    let mut decided = Vec::new();
    for call in state.interruptions {
        // A decision that is sent twice, by a double click or by a retry, counts once.
        let answer = agent.decide(AgentDecision::new(&*call.id, verdict.clone())).await?;
        decided.push((call, answer));
    }
    Ok(decided)
}
