//! Items that a run has produced.

use serde::{Deserialize, Serialize};

use crate::wire::{item::Item, side_data::SideData};

/// An item that a run has produced.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewItem {
    /// Kind of the item in the run.
    #[serde(rename = "type")]
    pub kind: NewItemKind,
    /// Name of the agent that the item belongs to.
    pub agent: String,
    /// The item in its wire form.
    pub raw: Item,
    /// Source and target of a handoff, if the item is the output of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handoff: Option<HandoffEnds>,
    /// Data of the tool that returned the item; no model receives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side_data: Option<Box<SideData>>,
}

impl NewItem {
    /// Creates an item of this agent, for example in a filter of a handoff.
    pub fn new(kind: NewItemKind, agent: impl Into<String>, raw: Item) -> Self {
        Self { kind, agent: agent.into(), raw, handoff: None, side_data: None }
    }
}

/// The two agents of a handoff.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandoffEnds {
    /// Name of the agent that handed off.
    pub source: String,
    /// Name of the agent that the conversation was handed to.
    pub target: String,
}

/// Kind of an item in a run.
///
/// # Source
/// The run item types of the OpenAI Agents SDK; `unknown_item` is an addition of this crate, for
/// kinds that the SDK drops.
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
    /// An approval request of a hosted MCP server.
    #[serde(rename = "mcp_approval_request_item")]
    McpApprovalRequest,
    /// The answer to an approval request of a hosted MCP server.
    #[serde(rename = "mcp_approval_response_item")]
    McpApprovalResponse,
    /// A summary that the provider made of earlier items.
    #[serde(rename = "compaction_item")]
    Compaction,
    /// A call that waits for approval; never sent to a model.
    #[serde(rename = "tool_approval_item")]
    ToolApproval,
    /// An item of a kind that this build does not know: kept, and returned to the provider
    /// unchanged.
    #[serde(rename = "unknown_item", other)]
    Unknown,
}
