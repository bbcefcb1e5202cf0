use temporal_agents::tool;

/// Pays money back.
#[tool(needs_approval = "euros > 50")]
async fn in_quotes(euros: u32) {}

/// Pays money back.
#[tool(needs_approval(euros > 50))]
async fn in_parentheses(euros: u32) {}

/// Pays money back.
#[tool(needs_approval = true)]
async fn constant(euros: u32) {}

/// Pays money back.
#[tool(needs_approval = )]
async fn empty(euros: u32) {}

/// Pays money back.
#[tool(approval = euros > 50)]
async fn by_another_word(euros: u32) {}

fn main() {}
