use temporal_agents::tool;

/// Borrows.
#[tool]
async fn find<'a>(names: &'a [String], first: &str, path: &std::path::Path) -> Option<&'a str> {
    None
}

fn main() {}
