//! The chunks of a UI message stream, as JSON.
//!
//! An absent member is left out, never null: clients refuse null.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use temporal_agents_core::wire::Usage;

/// One chunk of a stream. JSON shape: an object with the kebab-case name of the variant in `type`,
/// and members in camel case.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub(in crate::http) enum Chunk {
    /// The first chunk: the message begins, or continues if the page has one with this id.
    Start { message_id: String },
    /// The last chunk of a stream that was completed.
    Finish {
        finish_reason: FinishReason,
        #[serde(skip_serializing_if = "Option::is_none")]
        message_metadata: Option<MessageMetadata>,
    },
    /// The last chunk of a stream that was cancelled.
    Abort { reason: String },
    /// The last chunk of a stream that has failed.
    Error { error_text: String },
    /// A step begins: a turn of the run.
    StartStep,
    /// The step has ended.
    FinishStep,
    /// Removes all parts of the current step. Version 7 only.
    ResetStep,
    /// A text part begins.
    TextStart { id: String },
    /// More text of an open part.
    TextDelta { id: String, delta: String },
    /// The text part is complete.
    TextEnd { id: String },
    /// A reasoning part begins.
    ReasoningStart { id: String },
    /// More text of an open reasoning part.
    ReasoningDelta { id: String, delta: String },
    /// The reasoning part is complete.
    ReasoningEnd { id: String },
    /// A tool part begins.
    ToolInputStart { tool_call_id: String, tool_name: String, dynamic: bool },
    /// More of the arguments of a tool part, as JSON text.
    ToolInputDelta { tool_call_id: String, input_text_delta: String },
    /// The arguments of a tool part are complete. Without a `ToolInputStart` the part begins here.
    ToolInputAvailable { tool_call_id: String, tool_name: String, input: Value, dynamic: bool },
    /// The call of a tool part waits for a decision.
    ToolApprovalRequest { approval_id: String, tool_call_id: String },
    /// The call of a tool part has an output.
    ToolOutputAvailable { tool_call_id: String, output: Value, dynamic: bool },
    /// The call of a tool part has failed.
    ToolOutputError { tool_call_id: String, error_text: String, dynamic: bool },
    /// The call of a tool part was rejected by a person.
    ToolOutputDenied { tool_call_id: String },
    /// A part with a name of this crate, or of a tool.
    #[serde(untagged)]
    Data(DataPart),
}

/// Reason for which a stream was completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(in crate::http) enum FinishReason {
    /// The run has ended with an output.
    Stop,
    /// The run waits for decisions or outputs of the page.
    ToolCalls,
}

/// A data part. A part with the id of an earlier one of its type replaces it; a transient one is
/// passed to the page and is not part of the message.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(in crate::http) struct DataPart {
    /// `data-` and the name.
    #[serde(rename = "type")]
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    data: Value,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    transient: bool,
}

/// Metadata of the message of a run that has finished.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(in crate::http) struct MessageMetadata {
    /// Token usage of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::http) usage: Option<MessageUsage>,
    /// Name of the last agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::http) agent: Option<String>,
}

/// Token usage, with the names of the AI SDK.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::http) struct MessageUsage {
    requests: u64,
    input_tokens: u64,
    cached_input_tokens: u64,
    output_tokens: u64,
    reasoning_tokens: u64,
    total_tokens: u64,
}

impl From<&Usage> for MessageUsage {
    fn from(usage: &Usage) -> Self {
        Self {
            requests: usage.requests,
            input_tokens: usage.input_tokens,
            cached_input_tokens: usage.input_tokens_details.cached_tokens,
            output_tokens: usage.output_tokens,
            reasoning_tokens: usage.output_tokens_details.reasoning_tokens,
            total_tokens: usage.total_tokens,
        }
    }
}

impl Chunk {
    /// Returns a data part of the message.
    pub(super) fn data(name: &str, id: Option<String>, data: Value) -> Self {
        Self::Data(DataPart { kind: format!("data-{name}"), id, data, transient: false })
    }

    /// Returns a data part that is passed to the page once.
    pub(super) fn transient(name: &str, data: Value) -> Self {
        Self::Data(DataPart { kind: format!("data-{name}"), id: None, data, transient: true })
    }
}

/// The two kinds of parts that hold text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextKind {
    Text,
    Reasoning,
}

impl TextKind {
    /// Returns the chunk that begins a part.
    pub(super) fn start(self, id: &str) -> Chunk {
        let id = id.to_owned();
        match self {
            Self::Text => Chunk::TextStart { id },
            Self::Reasoning => Chunk::ReasoningStart { id },
        }
    }

    /// Returns the chunk that adds to a part.
    pub(super) fn delta(self, id: &str, delta: &str) -> Chunk {
        let (id, delta) = (id.to_owned(), delta.to_owned());
        match self {
            Self::Text => Chunk::TextDelta { id, delta },
            Self::Reasoning => Chunk::ReasoningDelta { id, delta },
        }
    }

    /// Returns the chunk that completes a part.
    pub(super) fn end(self, id: &str) -> Chunk {
        let id = id.to_owned();
        match self {
            Self::Text => Chunk::TextEnd { id },
            Self::Reasoning => Chunk::ReasoningEnd { id },
        }
    }
}
