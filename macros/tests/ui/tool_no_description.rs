use temporal_agents::tool;

#[tool(inline)]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// # Arguments
/// * `of` - the number
#[tool(inline)]
fn double(of: i64) -> i64 {
    of * 2
}

fn main() {}
