use temporal_agents::tools;

#[derive(Clone)]
struct Desk;

#[tools(name = "desk", task_queue = "desks", crat = agents)]
impl Desk {
    /// Gives money back.
    #[tool(crate = agents, attemps = 3)]
    async fn refund(&self, order: u32) -> String {
        order.to_string()
    }
}

fn main() {}
