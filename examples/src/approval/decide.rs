//! The other side: somebody looks at what waits and decides, by workflow id alone, from any process.

use temporal_agents::{
    client::AgentHandle,
    wire::{AgentDecision, AgentInterruption, AgentStatus, DecisionAnswer, Verdict},
};
use temporalio_client::Client;

/// Decides on everything the workflow waits for, and gives each call with what became of the decision.
///
/// # Errors
/// When the workflow cannot be asked, or waits for nothing.
pub async fn decide(
    client: &Client,
    workflow_id: &str,
    verdict: &Verdict,
) -> anyhow::Result<Vec<(AgentInterruption, DecisionAnswer)>> {
    let agent = AgentHandle::new(client, workflow_id);
    let state = agent.state().await?;
    anyhow::ensure!(state.status == AgentStatus::Waiting, "{workflow_id} waits for nothing: it is {:?}", state.status);
    let mut decided = Vec::new();
    for call in state.interruptions {
        // The same decision sent twice, by a nervous finger or by a retry, counts once.
        let answer = agent.decide(AgentDecision::new(&*call.id, verdict.clone())).await?;
        decided.push((call, answer));
    }
    Ok(decided)
}
