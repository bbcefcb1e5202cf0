use temporal_agents::tool;

/// Some arguments.
#[tool]
struct Arguments {
    city: String,
}

fn main() {
    let _ = Arguments { city: String::new() }.city;
}
