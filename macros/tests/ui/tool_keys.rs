use temporal_agents::tool;

/// Pings.
#[tool(start_to_closed = "20s", timeout = "20s", retries(3), colour = "red", name = "a", name = "b", "ping")]
async fn ping() {}

/// Adds.
#[tool(inline, attempts = 5, context("user"), heartbeat = "30s")]
fn add() {}

/// Pays.
#[tool(idempotent = false, attempts = 5)]
async fn pay() {}

fn main() {}
