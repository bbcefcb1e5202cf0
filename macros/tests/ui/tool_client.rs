use temporal_agents::{State, ToolContext, tool};

/// Has a body.
#[tool(client)]
fn pick_file(title: String) -> String {
    title
}

/// Has none.
#[tool]
async fn pick_folder(title: String) -> String;

/// Says too much.
#[tool(client, inline, start_to_close = "20s", context("user"))]
async fn pick_color(ctx: &ToolContext, State(palette): State<u8>, title: String) -> String;

fn main() {}
