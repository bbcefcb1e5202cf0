use temporal_agents::{Tool, tool};

/// Adds two numbers.
#[tool(inline)]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

fn subtract(a: i64, b: i64) -> i64 {
    a - b
}

fn take(_: impl Tool) {}

fn main() {
    add(1, 2);
    take(add);
    take(subtract);
}
