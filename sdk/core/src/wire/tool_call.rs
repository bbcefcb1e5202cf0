//! A tool call that runs in an activity: its request, its reply, and the output of a tool.

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{SeqAccess, Visitor, value::SeqAccessDeserializer},
};
use serde_json::{Map, Value};

use super::{
    digest::Digest,
    mcp_call::{McpQuestion, McpTarget},
    remote_call::RemoteTarget,
    side_data::SideData,
    version::{Versioned, WireVersion},
};

/// Prefix of the types of tool activities; the name of the tool follows.
pub const TOOL_PREFIX: &str = "agents.tool.";

/// The input of a tool activity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolRequest {
    /// The version of this message.
    pub version: WireVersion,
    /// Name of the tool, as the model called it.
    pub tool: String,
    /// Name of the agent that made the call.
    pub agent: String,
    /// Number of the turn of the call, counted from 1.
    pub turn: u32,
    /// Id that links the output to the call.
    pub call_id: String,
    /// Arguments, already checked to be a JSON object that fits the schema.
    pub arguments: Map<String, Value>,
    /// Members of the run context that the tool requests, by key.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub context: Map<String, Value>,
    /// Settings of the tool, set by its author; the worker fills in references to its environment
    /// variables.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub settings: Map<String, Value>,
    /// Idempotency key of the call (`CallInfo::idempotency_key`); absent in requests of older
    /// releases.
    #[serde(default, rename = "key", skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// Target of the call, if the tool is one of an MCP server; absent = it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mcp: Option<McpTarget>,
    /// Target of the call, if the tool is one of a provider; absent = it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote: Option<RemoteTarget>,
    /// Digest of the schema that the arguments fit, without its descriptions, if the tool is one of
    /// several versions; absent = the only tool of its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Digest>,
    /// Id of the stored session of the outermost run; absent = none. A `RemoteTarget` has its
    /// own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Idempotency key of the call that the run answers, if an agent runs as a tool; absent = none.
    /// A `RemoteTarget` has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_call: Option<String>,
}

impl Versioned for ToolRequest {
    fn version(&self) -> WireVersion {
        self.version
    }
}

/// The result of a tool activity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolReply {
    /// The version of this message.
    pub version: WireVersion,
    /// Output for the model.
    pub output: ToolOutput,
    /// Changes to the run context: a JSON merge patch (RFC 7396).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_patch: Option<Value>,
    /// Data that the model does not receive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side_data: Option<Box<SideData>>,
    /// Question of an MCP server to people. If it is present, the output is ignored, and the call
    /// is made again with their answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<McpQuestion>,
}

impl Versioned for ToolReply {
    fn version(&self) -> WireVersion {
        self.version
    }
}

/// Output of a tool for the model; JSON shape: a string, or a list of content parts (`input_text`,
/// `input_image`, `input_file`).
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ToolOutput {
    /// A string, or the compact JSON of a value.
    Text(String),
    /// Content parts in the format of the Responses API.
    Content(Vec<Value>),
}

impl ToolOutput {
    /// Converts the output to the `output` member of a `function_call_output` item.
    pub fn into_value(self) -> Value {
        match self {
            Self::Text(text) => Value::String(text),
            // Providers refuse an empty list of parts.
            Self::Content(parts) if parts.is_empty() => Value::String("[]".to_owned()),
            Self::Content(parts) => Value::Array(parts),
        }
    }

    /// Returns the string, or the compact JSON of the content parts.
    pub fn to_text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Content(parts) => Value::Array(parts.clone()).to_string(),
        }
    }
}

impl<'de> Deserialize<'de> for ToolOutput {
    /// Reads the output in one pass. It is not derived, because a derived untagged enum first
    /// buffers the whole value and then reads it again.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextOrContent;

        impl<'de> Visitor<'de> for TextOrContent {
            type Value = ToolOutput;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or a list of content parts")
            }

            fn visit_str<E>(self, text: &str) -> Result<ToolOutput, E> {
                Ok(ToolOutput::Text(text.to_owned()))
            }

            fn visit_string<E>(self, text: String) -> Result<ToolOutput, E> {
                Ok(ToolOutput::Text(text))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, parts: A) -> Result<ToolOutput, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(parts)).map(ToolOutput::Content)
            }
        }

        deserializer.deserialize_any(TextOrContent)
    }
}

impl From<String> for ToolOutput {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for ToolOutput {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}
