use std::rc::Rc;

use temporal_agents::tool;

/// Waits.
#[tool]
async fn wait() -> u32 {
    let count = Rc::new(1);
    std::future::ready(()).await;
    *count
}

fn main() {}
