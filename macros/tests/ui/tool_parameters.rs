use temporal_agents::{ToolContext, tool};

/// Takes everything it cannot.
#[tool(inline)]
fn everything(
    _text: &str,
    _numbers: &[u32],
    (a, b): (i64, i64),
    _shown: impl std::fmt::Display,
    #[serde(default)] _limit: u32,
    _ctx: ToolContext,
    _again: &ToolContext,
    _: bool,
) -> i64 {
    a + b
}

fn main() {
    let _ = everything;
}
