//! Builds tools that the provider runs.

use serde_json::json;
use temporal_agents::{
    Agent, RunContext,
    wire::{Decision, McpApproval},
};

use crate::conformance::format::{ApprovalAnswer, HostedTool};

/// Adds the hosted tool to the agent.
pub(super) fn with_hosted_tool(agent: Agent, tool: &HostedTool) -> Agent {
    match tool {
        HostedTool::WebSearch {} => agent.hosted_tool("web_search", json!({"type": "web_search"})),
        HostedTool::FileSearch {} => {
            agent.hosted_tool("file_search", json!({"type": "file_search", "vector_store_ids": ["vs"]}))
        }
        HostedTool::CodeInterpreter {} => {
            agent.hosted_tool("code_interpreter", json!({"type": "code_interpreter", "container": {"type": "auto"}}))
        }
        HostedTool::ImageGeneration {} => agent.hosted_tool("image_generation", json!({"type": "image_generation"})),
        HostedTool::Mcp { server_label, require_approval, on_approval_request } => {
            let server = json!({
                "type": "mcp",
                "server_label": server_label,
                "server_url": "https://example.invalid/mcp",
                "require_approval": require_approval.as_deref().unwrap_or("always"),
            });
            let agent = agent.hosted_tool("hosted_mcp", server);
            match on_approval_request.clone() {
                Some(ApprovalAnswer { approve, reason }) => {
                    agent.on_mcp_approval(server_label, move |_run: &RunContext, _request: &McpApproval| {
                        let mut decision = if approve { Decision::approve() } else { Decision::reject() };
                        decision.message.clone_from(&reason);
                        decision
                    })
                }
                None => agent,
            }
        }
    }
}
