use temporal_agents::tool;

struct NoSuchCity;

/// Current weather.
#[tool]
async fn weather(city: String) -> Result<String, NoSuchCity> {
    Ok(city)
}

/// Tomorrow's weather.
#[tool(inline)]
fn forecast(city: String) -> Result<String, String> {
    Ok(city)
}

fn main() {}
