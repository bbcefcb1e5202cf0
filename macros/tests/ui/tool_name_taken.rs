use temporal_agents::tool;

/// Pays money back.
#[tool]
async fn refund(euros: u32) {}

fn main() {
    let refund = 50;
}
