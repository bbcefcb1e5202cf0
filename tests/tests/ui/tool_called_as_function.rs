use temporal_agents::{Tool, tool};

/// Adds two numbers.
#[tool(inline)]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

fn subtract(a: i64, b: i64) -> i64 {
    a - b
}

fn main() {
    add(1, 2);
    subtract.definition();
}
