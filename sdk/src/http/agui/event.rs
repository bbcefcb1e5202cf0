//! The events that a frontend receives.
//!
//! Clients of the protocol refuse `null` in place of an optional member, so absent members are left
//! out everywhere. Events that [`AguiMapper`](super::AguiMapper) never sends are not here.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::message::AguiMessage;

/// An event of the protocol. JSON shape: `{"type": "TEXT_MESSAGE_END", "messageId": ".."}`.
///
/// `subagent_run_id` is the id of the nested run that an event belongs to; absent for the run
/// itself.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "SCREAMING_SNAKE_CASE", rename_all_fields = "camelCase")]
pub(crate) enum AguiEvent {
    /// The first event of a stream.
    RunStarted { thread_id: String, run_id: String, protocol_version: &'static str },
    /// The last event of a stream that did not fail.
    RunFinished {
        thread_id: String,
        run_id: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<Value>,
        outcome: Outcome,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        usage: Vec<UsageEntry>,
    },
    /// The last event of a stream that failed.
    RunError {
        message: String,
        code: String,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        usage: Vec<UsageEntry>,
    },
    /// An agent begins its turns.
    StepStarted {
        step_name: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        subagent_run_id: Option<String>,
    },
    /// An agent has ended its turns.
    StepFinished {
        step_name: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        subagent_run_id: Option<String>,
    },
    /// A message begins.
    TextMessageStart {
        message_id: String,
        role: &'static str,
        /// Name of the agent.
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        subagent_run_id: Option<String>,
    },
    /// A part of the text of a message.
    TextMessageContent {
        message_id: String,
        delta: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        subagent_run_id: Option<String>,
    },
    /// A message is complete.
    TextMessageEnd {
        message_id: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        subagent_run_id: Option<String>,
    },
    /// Reasoning begins.
    ReasoningStart {
        message_id: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        subagent_run_id: Option<String>,
    },
    /// A message of reasoning begins.
    ReasoningMessageStart {
        message_id: String,
        role: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        subagent_run_id: Option<String>,
    },
    /// A part of the text of a message of reasoning.
    ReasoningMessageContent {
        message_id: String,
        delta: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        subagent_run_id: Option<String>,
    },
    /// A message of reasoning is complete.
    ReasoningMessageEnd {
        message_id: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        subagent_run_id: Option<String>,
    },
    /// Reasoning is complete.
    ReasoningEnd {
        message_id: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        subagent_run_id: Option<String>,
    },
    /// A tool call begins.
    ToolCallStart {
        tool_call_id: String,
        tool_call_name: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        subagent_run_id: Option<String>,
    },
    /// A part of the arguments of a tool call: JSON text.
    ToolCallArgs {
        tool_call_id: String,
        delta: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        subagent_run_id: Option<String>,
    },
    /// The arguments of a tool call are complete.
    ToolCallEnd {
        tool_call_id: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        subagent_run_id: Option<String>,
    },
    /// A tool call has an output.
    ToolCallResult {
        message_id: String,
        tool_call_id: String,
        content: String,
        role: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        subagent_run_id: Option<String>,
    },
    /// A JSON Patch of the state that frontend and run share.
    StateDelta { delta: Vec<Value> },
    /// The messages of the conversation, which replace those that the client has.
    MessagesSnapshot { messages: Vec<AguiMessage> },
    /// A nested run begins.
    SubagentStarted {
        subagent_run_id: String,
        name: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        parent_subagent_run_id: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        parent_tool_call_id: Option<String>,
    },
    /// A nested run has ended, or waits.
    SubagentFinished {
        subagent_run_id: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        outcome: Option<SubagentOutcome>,
    },
    /// A nested run has failed.
    SubagentError { subagent_run_id: String, message: String, code: String },
    /// An event outside of the protocol.
    Custom {
        name: String,
        value: Value,
        #[serde(skip_serializing_if = "Option::is_none")]
        subagent_run_id: Option<String>,
    },
}

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(crate) enum Outcome {
    /// The run has an output, or waits for calls that the frontend makes.
    Success {
        /// Ids of the tool calls that the frontend makes; the messages of the next request contain
        /// their results.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pending_tool_call_ids: Vec<String>,
    },
    /// The run waits for people. The list is never empty.
    Interrupt { interrupts: Vec<Interrupt> },
    /// The run was cancelled.
    Cancelled,
}

/// The outcome of a nested run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(crate) enum SubagentOutcome {
    /// The run has an output.
    Success,
    /// The run waits.
    Suspended {
        #[serde(skip_serializing_if = "Vec::is_empty")]
        interrupt_ids: Vec<String>,
    },
}

/// A call that waits for a person.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Interrupt {
    /// Id to resume by.
    pub(crate) id: String,
    pub(crate) reason: InterruptReason,
    /// Message for people.
    pub(crate) message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tool_call_id: Option<String>,
    /// JSON schema of the payload with which the call is resumed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) response_schema: Option<Value>,
    /// Name and arguments of a call that the stream does not show.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) metadata: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) subagent_run_id: Option<String>,
}

/// The reason of an interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum InterruptReason {
    /// A tool call of the stream needs approval.
    ToolCall,
    /// A call needs an input.
    InputRequired,
    /// A call that the stream does not show needs approval: one of a hosted MCP server.
    Confirmation,
    /// A reason of a later release.
    #[serde(rename = "temporal-agents:other")]
    Other,
}

/// Token usage of the calls of one model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UsageEntry {
    pub(crate) provider: String,
    pub(crate) model: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) input_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) total_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reasoning_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cached_input_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cache_write_input_tokens: Option<u64>,
}
