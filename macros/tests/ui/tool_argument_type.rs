use temporal_agents::tool;

struct City(String);

#[derive(serde::Deserialize)]
struct Units {
    metric: bool,
}

/// Current weather.
#[tool]
async fn weather(name: String, city: City, units: Option<Units>) -> String {
    format!("{name} {} {:?}", city.0, units.map(|units| units.metric))
}

fn main() {}
