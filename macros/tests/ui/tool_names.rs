use temporal_agents::tool;

/// Has a space.
#[tool(inline, name = "add numbers")]
fn add() {}

/// Looks like a handoff.
#[tool(inline)]
fn transfer_to_refunds() {}

/// Is not ASCII.
#[tool(inline)]
fn größe() {}

fn main() {}
