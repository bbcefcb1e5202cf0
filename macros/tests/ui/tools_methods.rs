use temporal_agents::{Agent, tools};

#[derive(Clone)]
struct Desk;

#[tools]
impl Desk {
    /// Takes the set away.
    #[tool]
    async fn close(self) {}

    /// Changes the set.
    #[tool]
    async fn count(&mut self) {}

    /// Does not need the set.
    #[tool]
    async fn add(a: i64, b: i64) -> i64 {
        a + b
    }

    /// Runs in the workflow.
    #[tool(inline)]
    fn double(&self, a: i64) -> i64 {
        2 * a
    }

    #[tool]
    fn undescribed(&self, text: &str) {}
}

fn main() {
    // The names are there all the same.
    let _: Agent = Agent::new("desk").tools(Desk::tools()).tool(Desk::close_tool());
}
