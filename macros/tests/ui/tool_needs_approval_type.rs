use temporal_agents::tool;

/// Pays money back.
#[tool(needs_approval = euros)]
async fn a_number(euros: u32) {}

/// Pays money back.
#[tool(needs_approval = euros > "50")]
async fn compared_with_text(euros: u32) {}

fn main() {}
