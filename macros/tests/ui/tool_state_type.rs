use temporal_agents::{State, tool};

struct Api;

/// Current weather.
#[tool]
async fn weather(State(api): State<Api>) -> String {
    let Api = api;
    String::new()
}

fn main() {}
