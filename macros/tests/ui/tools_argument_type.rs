use temporal_agents::tools;

struct Order;

#[derive(Clone)]
struct Desk;

#[tools]
impl Desk {
    /// Gives money back.
    #[tool]
    async fn refund(&self, order: Order) -> Order {
        order
    }
}

fn main() {}
