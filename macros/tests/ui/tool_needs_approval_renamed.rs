use temporal_agents::tool;

/// Pays money back.
#[tool(needs_approval = amount > 50)]
async fn refund(euros: u32) {}

fn main() {}
