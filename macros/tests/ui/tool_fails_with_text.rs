use temporal_agents::{ToolError, tool};

/// Pays money back.
#[tool]
async fn refund(euros: u32) -> Result<u32, ToolError> {
    if euros > 50 {
        Err("too much")?;
    }
    Ok(euros)
}

fn main() {}
