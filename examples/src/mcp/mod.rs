//! An agent with the tools of a server of the Model Context Protocol (MCP): any server, over stdio or streamable HTTP.
//!
//! The worker configures the transport to the server; the agent names the server. An activity lists
//! its tools at the start of the run, and each call is an activity: history contains the server's
//! answers, so a replay makes no request to it.

#![allow(missing_docs, missing_debug_implementations, reason = "#[workflow_methods] generates items without either")]

pub mod built_in;
pub mod model;

use temporal_agents::{Agent, Runner, tool::McpServer, workflow::McpHandle};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

/// The name under which agent and worker know the server.
pub const SERVER: &str = "example";

pub fn operator() -> Agent {
    Agent::new("operator")
        .model("gpt-5-mini")
        .instructions("You use the tools of a server to do what you are asked.")
        .mcp_server(McpServer::named(SERVER))
}

/// Runs the operator on one task.
#[workflow]
#[derive(Debug, Default)]
pub struct Operation;

#[workflow_methods]
impl Operation {
    #[run(name = "mcp")]
    pub async fn run(ctx: &mut WorkflowContext<Self>, task: String) -> WorkflowResult<String> {
        Ok(Runner::new(ctx).run(&operator(), task).await?.final_output)
    }
}

/// Lists the tools of the server, without an agent.
#[workflow]
#[derive(Debug, Default)]
pub struct Inventory;

#[workflow_methods]
impl Inventory {
    #[run(name = "mcp_list")]
    pub async fn run(ctx: &mut WorkflowContext<Self>, _all: ()) -> WorkflowResult<Vec<String>> {
        let tools = McpHandle::new(ctx, McpServer::named(SERVER)).list_tools().await?;
        let line = |tool: &temporal_agents::wire::McpTool| {
            let description = tool.description.as_deref().unwrap_or_default();
            let first = description.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
            format!("{} - {first}", tool.name)
        };
        Ok(tools.iter().map(line).collect())
    }
}
