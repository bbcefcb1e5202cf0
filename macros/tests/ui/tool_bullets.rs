use temporal_agents::{State, ToolContext, tool};

/// Current weather.
///
/// # Arguments
/// * `ctiy` - city name
/// * `api` - the API
/// * `ctx` - the context
/// * `unit` - metric or imperial
/// * the rest
#[tool]
async fn weather(
    State(api): State<String>,
    ctx: &ToolContext,
    city: String,
    /// Metric or imperial.
    unit: String,
    /// Something for nobody.
    State(other): State<u8>,
) -> String {
    format!("{api} {city} {unit} {other} {}", ctx.info().turn)
}

fn main() {}
