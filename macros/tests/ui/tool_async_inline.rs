use temporal_agents::tool;

/// Adds two numbers.
#[tool(inline)]
async fn add(a: i64, b: i64) -> i64 {
    a + b
}

fn main() {
    let _ = add;
}
