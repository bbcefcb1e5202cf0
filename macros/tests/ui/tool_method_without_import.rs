use temporal_agents::{Agent, tool};

/// Pays money back.
#[tool]
async fn refund(euros: u32) {}

fn main() {
    let clerk: Agent = Agent::new("clerk").tool(refund.needs_approval());
}
