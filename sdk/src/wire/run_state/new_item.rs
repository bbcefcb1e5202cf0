//! Something a run has produced.

use serde::{Deserialize, Serialize};

use crate::wire::item::Item;

/// Something a run has produced.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewItem {
    /// What it is in the run.
    #[serde(rename = "type")]
    pub kind: NewItemKind,
    /// The agent it belongs to.
    pub agent: String,
    /// The item as it goes over the wire.
    pub raw: Item,
    /// For the output of a handoff: from whom to whom.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handoff: Option<HandoffEnds>,
}

/// The two agents of a handoff.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandoffEnds {
    /// The agent that handed off.
    pub source: String,
    /// The agent that took over.
    pub target: String,
}

/// What an item is in a run.
///
/// # Source
/// The run item types of the OpenAI Agents SDK; `unknown_item` is ours, for kinds the SDK drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum NewItemKind {
    /// A message of the model.
    #[serde(rename = "message_output_item")]
    MessageOutput,
    /// A call of a function tool or a hosted tool.
    #[serde(rename = "tool_call_item")]
    ToolCall,
    /// The output of a function tool.
    #[serde(rename = "tool_call_output_item")]
    ToolCallOutput,
    /// A call of a handoff.
    #[serde(rename = "handoff_call_item")]
    HandoffCall,
    /// The output of a handoff.
    #[serde(rename = "handoff_output_item")]
    HandoffOutput,
    /// Reasoning.
    #[serde(rename = "reasoning_item")]
    Reasoning,
    /// The tools of a hosted MCP server.
    #[serde(rename = "mcp_list_tools_item")]
    McpListTools,
    /// A hosted MCP server's question for approval.
    #[serde(rename = "mcp_approval_request_item")]
    McpApprovalRequest,
    /// The answer to it.
    #[serde(rename = "mcp_approval_response_item")]
    McpApprovalResponse,
    /// A summary the provider made of earlier items.
    #[serde(rename = "compaction_item")]
    Compaction,
    /// A call that waits for approval; never sent to a model.
    #[serde(rename = "tool_approval_item")]
    ToolApproval,
    /// An item of a kind this build does not know: kept, and sent back to the provider unchanged.
    #[serde(rename = "unknown_item", other)]
    Unknown,
}
