//! Connects to a server of the Model Context Protocol, lists its tools, and runs an agent that calls one.

use anyhow::Context;
use clap::Parser;
use serde_json::{Map, Value};
use temporal_agents::mcp::McpTransport;
use temporal_agents_examples::{
    mcp::{Inventory, Operation, SERVER, built_in, model, operator},
    stage::{Options, Stage},
};
use temporal_agents_testing::AgentEnvironment;

/// Connects to an MCP server, lists its tools, and runs an agent that calls one of them.
///
/// With neither --stdio nor --http a small built-in server is used. Without OPENAI_API_KEY a
/// scripted model makes the call.
#[derive(Debug, Parser)]
struct Arguments {
    /// The command of a server that speaks over its standard input and output, its arguments separated by spaces.
    #[arg(long, value_name = "CMD ARGS", conflicts_with = "http")]
    stdio: Option<String>,
    /// The address of a server that speaks streamable HTTP.
    #[arg(long, value_name = "URL")]
    http: Option<String>,
    /// Lists the tools and calls none, unless --call names one.
    #[arg(long)]
    list: bool,
    /// The tool that the model calls.
    #[arg(long, value_name = "TOOL", requires = "args")]
    call: Option<String>,
    /// The arguments of the tool, a JSON object.
    #[arg(long, value_name = "JSON", value_parser = object)]
    args: Option<Map<String, Value>>,
    #[command(flatten)]
    options: Options,
}

fn object(text: &str) -> Result<Map<String, Value>, serde_json::Error> {
    serde_json::from_str(text)
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let Arguments { stdio, http, list, call, args, options } = Arguments::parse();
    let has_server = stdio.is_some() || http.is_some();
    let transport: McpTransport = match (stdio, http) {
        (Some(command), _) => {
            let mut words = command.split_whitespace();
            McpTransport::stdio(words.next().context("--stdio names no command")?, words).into()
        }
        (None, Some(url)) => McpTransport::streamable_http(url).into(),
        (None, None) => built_in::transport(),
    };
    let call = call.or_else(|| (!has_server && !list).then(|| "roman".to_owned()));
    let arguments = args.unwrap_or_else(|| Map::from_iter([("number".to_owned(), Value::from(1987))]));
    let env = AgentEnvironment::builder().workflow::<Inventory>()?.mcp_server(SERVER, transport).agent(operator);
    let scripted = model::scripted(call.clone().unwrap_or_default(), arguments.clone());
    let stage = Stage::set_with::<Operation>(options, env, scripted).await?;
    let tools = stage.run(Inventory::run, ()).await?;
    println!("\nThe server has these tools:");
    for tool in tools {
        println!("  {tool}");
    }
    if let Some(tool) = call {
        let task = format!("Call {tool} with {}, and tell me what it says.", Value::Object(arguments));
        println!();
        let told = stage.run(Operation::run, task).await?;
        println!("\nThe model received:\n{told}");
    }
    stage.clear().await
}
