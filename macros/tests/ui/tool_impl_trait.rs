use temporal_agents::tool;

/// Takes and gives anything.
#[tool(inline)]
fn shout(text: impl ToString, all: Vec<Box<dyn ToString>>) -> impl serde::Serialize {
    text.to_string()
}

fn main() {}
