//! An MCP server whose list of tools has no end: a page of a megabyte, and another one after it.

use std::io;

use serde_json::{Value, json};
use temporal_agents::{
    Agent, Resources,
    inline::InlineRunner,
    mcp::McpTransport,
    tool::{McpServer, ToolActivityOptions},
};
use temporal_agents_testing::FakeModel;
use tokio::runtime::Runtime;

use super::{
    server::{self, Connection},
    victim::attack,
};

const TOOLS_OF_A_PAGE: usize = 100;
const BYTES_OF_A_TOOL: usize = 10_000;

#[test]
fn an_mcp_server_that_lists_for_ever_is_a_typed_error() -> anyhow::Result<()> {
    attack("a list without end", &server::start(serve)?)
}

fn serve(connection: &mut Connection) -> io::Result<()> {
    while let Some(request) = connection.request()? {
        let message: Option<Value> = serde_json::from_slice(&request.body).ok().filter(|_| request.method == "POST");
        match message {
            None => connection.respond("405 Method Not Allowed", b"")?,
            Some(message) => match message.get("id") {
                None => connection.respond("202 Accepted", b"")?,
                Some(id) => {
                    let reply = json!({"jsonrpc": "2.0", "id": id, "result": result(&message)});
                    connection.respond("200 OK", reply.to_string().as_bytes())?;
                }
            },
        }
    }
    Ok(())
}

fn result(message: &Value) -> Value {
    match message["method"].as_str() {
        Some("initialize") => json!({
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "endless", "version": "1"},
        }),
        Some("tools/list") => page(message["params"]["cursor"].as_str().and_then(|n| n.parse().ok()).unwrap_or(0)),
        _ => json!({}),
    }
}

fn page(number: u64) -> Value {
    let description = "x".repeat(BYTES_OF_A_TOOL);
    let tool = |place| json!({"name": format!("tool_{number}_{place}"), "description": description, "inputSchema": {"type": "object"}});
    let tools: Vec<Value> = (0..TOOLS_OF_A_PAGE).map(tool).collect();
    json!({"tools": tools, "nextCursor": (number + 1).to_string()})
}

pub(super) fn endless_list(url: &str) -> anyhow::Result<String> {
    let server = McpServer::named("endless").list_options(ToolActivityOptions::builder().attempts(1).build());
    let resources = Resources::new()
        .model_provider(FakeModel::script([]))
        .mcp_server("endless", McpTransport::streamable_http(format!("{url}/mcp")));
    let runner = InlineRunner::new(resources);
    let agent = Agent::new("clerk").model("gpt-5").mcp_server(server);
    let failure = Runtime::new()?.block_on(runner.run(&agent, "hi").into_future()).expect_err("the list has no end");
    let told = failure.to_string();
    anyhow::ensure!(told.contains("endless") && !told.contains("deadline"), "{told}");
    Ok(told)
}
