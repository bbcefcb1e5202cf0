//! The state of a run between two steps: one serde value that pauses, travels and resumes.
//!
//! The engine alone changes it. JSON shape: see `tests/golden/wire/v1.0/run_state-*.json`. It holds what the run has
//! said and done and what it is about to do; it does not hold agents, which are code and come from the graph.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{definitions::Definitions, item::Item, usage::Usage, version::WireVersion};

/// A run between two steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunState {
    /// The version of this value.
    pub version: WireVersion,
    /// The agent whose turn it is.
    pub agent: String,
    /// What the run was started with.
    pub input: Vec<Item>,
    /// What has happened since: the model's items and the outputs of tools and handoffs, in order.
    pub items: Vec<NewItem>,
    /// Model calls made so far.
    pub turn: u32,
    /// Most model calls this run may make; absent = no limit.
    pub max_turns: Option<u32>,
    /// What the model calls have used.
    pub usage: Usage,
    /// The run context.
    pub context: Map<String, Value>,
    /// The tools each agent has used, hosted ones and handoffs included; such an agent's `tool_choice` is reset.
    pub tools_used: BTreeMap<String, BTreeSet<String>>,
    /// The provider's id of the last response.
    pub last_response_id: Option<String>,
    /// The answers of `Host::patched`, by slug.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub patches: BTreeMap<String, bool>,
    /// What comes next.
    pub phase: Phase,
}

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
    #[serde(rename = "unknown_item")]
    Unknown,
}

/// What a run does next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Phase {
    /// A turn begins: the agent's functions are asked what it is now.
    TurnDue,
    /// The model is to be called.
    ModelDue {
        /// What the agent is at this turn.
        setup: Box<TurnSetup>,
    },
    /// Tools are to be called.
    ToolsDue {
        /// The calls, in the order of the response.
        calls: Vec<PlannedCall>,
        /// The handoffs of the same response, which come after.
        handoffs: Vec<PlannedHandoff>,
    },
    /// The run moves to another agent.
    HandoffDue {
        /// The handoffs of the response; the first one is taken.
        handoffs: Vec<PlannedHandoff>,
    },
    /// The model's text is to be read as the agent's output type.
    OutputDue {
        /// The text.
        text: String,
        /// Why the model stopped early, where it did: the text may be cut short.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        incomplete: Option<String>,
    },
    /// The run has its final output.
    Finished {
        /// The output: a string for plain text, else the parsed value.
        output: Value,
    },
}

/// What an agent is at one turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnSetup {
    /// The model's name.
    pub model: String,
    /// Instructions, tools, handoffs, output and settings.
    pub definitions: Definitions,
    /// Whether `tool_choice` is dropped once the agent has used a tool.
    pub reset_tool_choice: bool,
}

/// A function call the run will make.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedCall {
    /// The tool's name.
    pub tool: String,
    /// The model's id of the call.
    pub call_id: String,
    /// The arguments as the model wrote them.
    pub arguments: String,
}

/// A handoff the model asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedHandoff {
    /// The handoff's function name.
    pub tool_name: String,
    /// The agent it leads to.
    pub target: String,
    /// The model's id of the call.
    pub call_id: String,
    /// The arguments as the model wrote them.
    pub arguments: String,
}
