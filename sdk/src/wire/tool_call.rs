//! A tool call that runs in an activity: request, reply, and what a tool may return.

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{SeqAccess, Visitor, value::SeqAccessDeserializer},
};
use serde_json::{Map, Value};

use super::{
    digest::Digest,
    mcp_call::{McpQuestion, McpTarget},
    version::{Versioned, WireVersion},
};

/// The input of a tool activity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolRequest {
    /// The version of this message.
    pub version: WireVersion,
    /// The tool's name, as the model called it.
    pub tool: String,
    /// The agent that called it.
    pub agent: String,
    /// The turn of the call, counted from 1.
    pub turn: u32,
    /// The id that ties the output to the call.
    pub call_id: String,
    /// The arguments, checked to be a JSON object that fits the schema.
    pub arguments: Map<String, Value>,
    /// The keys of the run context that the tool asked for.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub context: Map<String, Value>,
    /// What the author has set for the tool; references to variables of the worker are filled in there.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub settings: Map<String, Value>,
    /// What names the call for good (`CallInfo::idempotency_key`); absent in requests of older releases.
    #[serde(default, rename = "key", skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// Which tool of an MCP server this is; absent = none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mcp: Option<McpTarget>,
    /// The digest of the schema that the arguments fit, without its descriptions, where the tool is one of several versions; absent = the only one of its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Digest>,
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
    /// What the model gets.
    pub output: ToolOutput,
    /// Changes to the run context: a JSON merge patch (RFC 7396).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_patch: Option<Value>,
    /// What an MCP server has asked people; the output counts for nothing then, and the call is made anew with their answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<McpQuestion>,
}

impl Versioned for ToolReply {
    fn version(&self) -> WireVersion {
        self.version
    }
}

/// What a tool returns to the model; JSON shape: a string, or a list of content parts
/// (`input_text`, `input_image`, `input_file`).
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ToolOutput {
    /// Text, or the compact JSON of a value.
    Text(String),
    /// Content parts, as the Responses API takes them.
    Content(Vec<Value>),
}

impl ToolOutput {
    /// The output as the `output` member of a `function_call_output` item.
    pub fn into_value(self) -> Value {
        match self {
            Self::Text(text) => Value::String(text),
            // No parts are no content, which providers refuse.
            Self::Content(parts) if parts.is_empty() => Value::String("[]".to_owned()),
            Self::Content(parts) => Value::Array(parts),
        }
    }

    /// The text, or the compact JSON of the content parts.
    pub fn to_text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Content(parts) => Value::Array(parts.clone()).to_string(),
        }
    }
}

impl<'de> Deserialize<'de> for ToolOutput {
    /// Not derived: what is untagged is kept as a whole, to be read once more.
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
