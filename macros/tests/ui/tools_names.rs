use temporal_agents::tools;

#[derive(Clone)]
struct Desk;

#[tools]
impl Desk {
    /// Gives money back.
    #[tool]
    async fn refund(&self) {}

    /// Gives money back again.
    #[tool(name = "refund")]
    async fn refund_again(&self) {}

    fn refund_tool() {}

    fn tools() {}
}

fn main() {}
