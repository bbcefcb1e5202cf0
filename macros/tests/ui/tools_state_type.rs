use temporal_agents::tools;

struct Desk(u8);

#[tools]
impl Desk {
    /// Gives money back.
    #[tool]
    async fn refund(&self, order: u32) -> u32 {
        order + u32::from(self.0)
    }
}

fn main() {}
