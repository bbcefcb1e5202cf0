use temporal_agents::tool;

/// Gives a type that is not there.
#[tool(client)]
fn pick_file(title: String) -> FilePath;

fn main() {}
