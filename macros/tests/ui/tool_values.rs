use temporal_agents::tool;

/// Pings.
#[tool(
    start_to_close = 20,
    schedule_to_close = "20 seconds",
    heartbeat = "0s",
    attempts = "three",
    idempotent = "no",
    task_queue,
    summary = "",
    lenient = true,
    context = "user",
    crate = "agents",
    name = Ping
)]
async fn ping() {}

/// Pings.
#[tool(attempts = 0, description = )]
async fn pong() {}

fn main() {}
