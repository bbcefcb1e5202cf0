//! The approval workflows of a session, as people find them.

use std::time::Duration;

use futures::TryStreamExt;
use temporal_agents::{client::AgentHandle, wire::AgentInterruption};
use temporalio_client::{Client, WorkflowListOptions};
use tokio::time::{Instant, sleep, timeout};

use crate::PATIENCE;

/// The ids of the approval workflows, old and new.
pub(crate) async fn approvals(client: &Client) -> anyhow::Result<Vec<String>> {
    let listed = client.list_workflows("WorkflowType = 'ApprovalWorkflow'", WorkflowListOptions::default());
    let mut ids: Vec<String> = listed.map_ok(|workflow| workflow.id().to_owned()).try_collect().await?;
    ids.sort();
    Ok(ids)
}

/// Waits until there are so many of them, and gives their ids.
pub(crate) async fn until_approvals(client: &Client, count: usize) -> anyhow::Result<Vec<String>> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let ids = approvals(client).await?;
        if ids.len() >= count {
            return Ok(ids);
        }
        anyhow::ensure!(Instant::now() < deadline, "nobody asks for approval {count}: there are {ids:?}");
        sleep(Duration::from_millis(50)).await;
    }
}

/// Waits until the first of them asks, and gives its workflow and the call that waits there.
pub(crate) async fn asked(client: &Client) -> anyhow::Result<(AgentHandle, AgentInterruption)> {
    let id = until_approvals(client, 1).await?.swap_remove(0);
    let handle = AgentHandle::new(client, &*id);
    let calls = timeout(PATIENCE, handle.wait_for_interruptions()).await;
    let mut calls = calls.map_err(|_| anyhow::anyhow!("workflow {id} does not ask within {PATIENCE:?}"))??;
    anyhow::ensure!(calls.len() == 1, "workflow {id} asks for one call: {calls:?}");
    Ok((handle, calls.swap_remove(0)))
}
