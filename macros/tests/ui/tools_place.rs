use temporal_agents::tools;

#[tools]
struct Desk;

#[tools]
impl Desk {
    async fn refund(&self) {}
}

trait Refunds {
    async fn refund(&self);
}

#[tools]
impl Refunds for Desk {
    /// Gives money back.
    #[tool]
    async fn refund(&self) {}
}

struct Generic<T>(T);

#[tools]
impl<T> Generic<T> {
    /// Gives something back.
    #[tool]
    async fn give(&self) {}
}

fn main() {}
