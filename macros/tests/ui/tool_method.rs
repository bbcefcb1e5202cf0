use temporal_agents::tool;

struct Calculator;

impl Calculator {
    /// Adds.
    #[tool(inline)]
    fn add(&self, a: i64, b: i64) -> i64 {
        a + b
    }
}

fn main() {}
