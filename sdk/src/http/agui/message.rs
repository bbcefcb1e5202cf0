//! The messages of a conversation, as requests and snapshots contain them.
//!
//! Members and roles that this build does not know are kept and written again unchanged, so that a
//! snapshot returns to a client what the client has sent.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// A message. JSON shape: `{"id": "m1", "role": "user", "content": "hi"}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AguiMessage {
    #[serde(default)]
    pub(crate) id: String,
    pub(crate) role: AguiRole,
    /// A string, or a list of content parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) content: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "null_as_default")]
    pub(crate) tool_calls: Vec<AguiToolCall>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tool_call_id: Option<String>,
    #[serde(flatten, deserialize_with = "without_nulls")]
    pub(crate) other: Map<String, Value>,
}

/// The role of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AguiRole {
    Developer,
    System,
    User,
    Assistant,
    Tool,
    Activity,
    Reasoning,
    /// A role that this build does not know.
    #[serde(untagged)]
    Other(String),
}

/// A tool call of an assistant's message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct AguiToolCall {
    pub(crate) id: String,
    /// `function`, the only type of the protocol.
    #[serde(rename = "type", default = "function")]
    pub(crate) kind: String,
    pub(crate) function: AguiFunction,
    #[serde(flatten, deserialize_with = "without_nulls")]
    pub(crate) other: Map<String, Value>,
}

/// The function that a tool call names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct AguiFunction {
    pub(crate) name: String,
    /// The arguments as the model wrote them: JSON text.
    #[serde(default)]
    pub(crate) arguments: String,
}

impl AguiMessage {
    /// Returns a message with this text.
    pub(crate) fn new(id: impl Into<String>, role: AguiRole, text: impl Into<String>) -> Self {
        Self { content: Some(Value::String(text.into())), ..Self::empty(id.into(), role) }
    }

    /// Returns the message that makes one tool call; its id is that of the call, as clients name
    /// it.
    pub(crate) fn calling(id: &str, name: &str, arguments: &str) -> Self {
        let function = AguiFunction { name: name.to_owned(), arguments: arguments.to_owned() };
        let call = AguiToolCall { id: id.to_owned(), kind: self::function(), function, other: Map::new() };
        Self { tool_calls: vec![call], ..Self::empty(id.to_owned(), AguiRole::Assistant) }
    }

    /// Returns the result of a tool call.
    pub(crate) fn result(id: &str, tool_call_id: &str, text: &str) -> Self {
        Self { tool_call_id: Some(tool_call_id.to_owned()), ..Self::new(id, AguiRole::Tool, text) }
    }

    /// Returns the result of a tool call that has failed: the text is its `error` as well.
    pub(crate) fn failed_result(id: &str, tool_call_id: &str, text: &str) -> Self {
        let mut result = Self::result(id, tool_call_id, text);
        result.other.insert("error".to_owned(), text.into());
        result
    }

    /// Returns the text of the content: the string, or its parts of type `text`, joined; `None` if
    /// it has no text.
    pub(crate) fn text(&self) -> Option<String> {
        let text = match self.content.as_ref()? {
            Value::String(text) => text.clone(),
            Value::Array(parts) => {
                let is_text = |part: &&Value| part["type"] == "text";
                parts.iter().filter(is_text).filter_map(|part| part["text"].as_str()).collect()
            }
            _ => String::new(),
        };
        Some(text).filter(|text| !text.is_empty())
    }

    /// Returns the id of the call whose result this is; `None` for a message that names no call.
    pub(crate) fn answered_call(&self) -> Option<&str> {
        self.tool_call_id.as_deref().filter(|id| self.role == AguiRole::Tool && !id.is_empty())
    }

    fn empty(id: String, role: AguiRole) -> Self {
        Self { id, role, content: None, name: None, tool_calls: Vec::new(), tool_call_id: None, other: Map::new() }
    }
}

fn function() -> String {
    "function".to_owned()
}

/// Reads `null` as an absent member.
pub(super) fn null_as_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    json: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(json)?.unwrap_or_default())
}

/// Reads the other members without those that are `null`, which no client accepts.
fn without_nulls<'de, D: Deserializer<'de>>(json: D) -> Result<Map<String, Value>, D::Error> {
    let mut members = Map::deserialize(json)?;
    members.retain(|_, value| !value.is_null());
    Ok(members)
}
