use temporal_agents::{State, WorkflowToolContext, tool};

/// Runs nowhere in particular.
#[tool(inline, workflow)]
fn nowhere() -> u32 {
    1
}

/// Is local and in the workflow.
#[tool(workflow, local, start_to_close = "5s", context("user"))]
async fn both(State(orders): State<Vec<String>>) -> usize {
    orders.len()
}

/// Is local and far away.
#[tool(local, task_queue = "far", heartbeat = "1s")]
async fn far() -> u32 {
    1
}

/// Has no workflow.
#[tool]
async fn without(ctx: &mut WorkflowToolContext) -> u64 {
    ctx.random()
}

fn main() {
    let _ = (nowhere, both, far, without);
}
