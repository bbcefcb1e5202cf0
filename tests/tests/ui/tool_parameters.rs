use temporal_agents::{ToolContext, tool};

/// Takes everything it cannot.
#[tool(inline)]
fn everything(
    text: &str,
    numbers: &[u32],
    (a, b): (i64, i64),
    shown: impl std::fmt::Display,
    #[serde(default)] limit: u32,
    ctx: ToolContext,
    again: &ToolContext,
    _: bool,
) -> i64 {
    a + b
}

fn main() {
    let _ = everything;
}
