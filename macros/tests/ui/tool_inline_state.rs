use temporal_agents::{State, tool};

/// Looks an order up.
#[tool(inline)]
fn look_up(State(orders): State<Vec<String>>, at: usize) -> String {
    orders[at].clone()
}

fn main() {
    let _ = look_up;
}
