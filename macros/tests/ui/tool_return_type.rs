use temporal_agents::tool;

struct Weather;

/// Current weather.
#[tool]
async fn weather(city: String) -> Result<Weather, std::io::Error> {
    let _ = city;
    Ok(Weather)
}

/// Tomorrow's weather.
#[tool(inline)]
fn forecast() -> Weather {
    Weather
}

fn main() {}
