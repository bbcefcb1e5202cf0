//! Requests of a workflow to a server of the Model Context Protocol (MCP) through an activity,
//! except tool calls.
//!
//! A tool call is a [`ToolRequest`](super::ToolRequest) that contains an [`McpTarget`], so that
//! conversations refer to its result like to that of any other tool. No message here contains a
//! secret: addresses and headers stay on the worker.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};

use super::{
    schema::Schema,
    version::{Versioned, WireVersion},
};

/// Prefix of the types of the activities of MCP servers; the server's name and the operation
/// follow, as in `agents.mcp.files.list_tools`.
pub const MCP_ACTIVITY: &str = "agents.mcp";
/// Last part of the type of the activity that calls a tool.
pub const MCP_CALL_TOOL: &str = "call_tool";

/// Last part of the type of the activity that lists tools.
const LIST_TOOLS: &str = "list_tools";

/// Returns the name of the server whose tools activities of this type list.
pub fn listed_server(activity_type: &str) -> Option<&str> {
    let named = activity_type.strip_prefix(MCP_ACTIVITY)?.strip_prefix('.')?;
    named.strip_suffix(LIST_TOOLS)?.strip_suffix('.')
}

/// A request of a workflow to an MCP server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct McpRequest {
    /// The version of this message.
    pub version: WireVersion,
    /// The operation to perform.
    pub operation: McpOperation,
    /// Argument from which the worker's factory creates the connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argument: Option<Value>,
    /// Id of the session of the request, for a stateful server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// An operation of an MCP server. An *instruction* kind: an unknown kind is refused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum McpOperation {
    /// Lists the tools: `{"tools": [McpTool]}`. Tools whose schemas are too large are left out and
    /// listed in a member that is absent otherwise: `"leftOut": [{"name": .., "reason": ..}]`.
    ListTools,
    /// Lists the prompts: `{"prompts": [..]}`, each as the server returns it.
    ListPrompts,
    /// Returns a prompt: `{"description": .., "messages": [..]}`.
    GetPrompt {
        /// Name of the prompt.
        name: String,
        /// Arguments of the prompt.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        arguments: Map<String, Value>,
    },
    /// Lists the resources: `{"resources": [..]}`.
    ListResources,
    /// Lists the templates of resources: `{"resourceTemplates": [..]}`.
    ListResourceTemplates,
    /// Reads a resource: `{"contents": [..]}`.
    ReadResource {
        /// URI of the resource.
        uri: String,
    },
    /// Opens a session: [`McpOpened`].
    OpenSession {
        /// Tool calls that the worker makes when it opens the session.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        set_up: Vec<McpSetUp>,
        /// Seconds that the session stays open without being used.
        idle_seconds: u64,
        /// `true` if the server may request values from people during calls.
        #[serde(default, skip_serializing_if = "is_false")]
        asks_people: bool,
    },
    /// Closes the session: null.
    CloseSession,
}

/// A tool call that the worker makes when it opens a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct McpSetUp {
    /// Name of the tool at the server.
    pub tool: String,
    /// Arguments of the call; the worker fills in references to its environment variables.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub arguments: Map<String, Value>,
}

/// A session that a worker has opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpOpened {
    /// Task queue of the worker that holds the session, and of no other worker.
    pub task_queue: String,
    /// Id of the session at that worker.
    pub session: String,
}

/// A session of a run with a stateful server, in the form in which the run's state contains it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct McpSession {
    /// Name of the server.
    pub server: String,
    /// Argument from which the worker's factory created the connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argument: Option<Value>,
    /// Task queue of the worker that holds the session, and of no other worker.
    pub task_queue: String,
    /// Id of the session at that worker.
    pub id: String,
}

impl McpOperation {
    /// Names of the operations that open and close sessions.
    pub const SESSION_NAMES: [&str; 2] = ["open_session", "close_session"];

    /// Names of all other operations.
    pub const NAMES: [&str; 6] =
        [LIST_TOOLS, "list_prompts", "get_prompt", "list_resources", "list_resource_templates", "read_resource"];

    /// Returns the operation's name, which is the last part of the activity's type.
    pub fn name(&self) -> &'static str {
        match self {
            Self::ListTools => LIST_TOOLS,
            Self::ListPrompts => "list_prompts",
            Self::GetPrompt { .. } => "get_prompt",
            Self::ListResources => "list_resources",
            Self::ListResourceTemplates => "list_resource_templates",
            Self::ReadResource { .. } => "read_resource",
            Self::OpenSession { .. } => "open_session",
            Self::CloseSession => "close_session",
        }
    }
}

/// Answer of a server in the shape of the protocol, without the members that this crate does not
/// read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct McpReply {
    /// The version of this message.
    pub version: WireVersion,
    /// The answer; [`McpOperation`] documents its shapes.
    pub result: Value,
}

impl Versioned for McpRequest {
    fn version(&self) -> WireVersion {
        self.version
    }
}

impl Versioned for McpReply {
    fn version(&self) -> WireVersion {
        self.version
    }
}

/// A tool of a server, in the shape of the protocol.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct McpTool {
    /// Name of the tool at the server.
    pub name: String,
    /// Description of the tool for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// JSON schema of the arguments. A list that omits it, or has null for it, means any object.
    #[serde(default = "any_object", deserialize_with = "schema_or_any_object")]
    pub input_schema: Schema,
    /// Hints of the server about the tool, which are not reliable: `title`, `readOnlyHint`,
    /// `destructiveHint`, `idempotentHint`, `openWorldHint`.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub annotations: Map<String, Value>,
}

fn any_object() -> Schema {
    json!({"type": "object", "properties": {}}).into()
}

fn schema_or_any_object<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Schema, D::Error> {
    Ok(Option::<Schema>::deserialize(deserializer)?.unwrap_or_else(any_object))
}

impl McpTool {
    /// Returns the server's hint of this name, if it is a boolean.
    pub fn hint(&self, name: &str) -> Option<bool> {
        self.annotations.get(name).and_then(Value::as_bool)
    }
}

/// The tool of a server to call, and the options of the call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct McpTarget {
    /// Name of the server.
    pub server: String,
    /// Name of the tool at the server.
    pub tool: String,
    /// Argument from which the worker's factory creates the connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argument: Option<Value>,
    /// Id of the session of the call, for a stateful server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Metadata for the server, sent as `_meta`.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub meta: Map<String, Value>,
    /// `true` if the model gets the structured content of a result, where there is any.
    #[serde(default, skip_serializing_if = "is_false")]
    pub structured_content: bool,
    /// Answers of people to the server so far; absent = the server cannot request values
    /// from people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<Vec<McpAnswer>>,
    /// `true` if the call must not be made twice.
    #[serde(default, skip_serializing_if = "is_false")]
    pub once: bool,
}

/// The value that a server requests from people during a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpQuestion {
    /// Message for people.
    pub message: String,
    /// JSON schema of the answer: an object of strings, numbers, booleans and choices.
    pub schema: Value,
}

/// The answer of a person to the request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct McpAnswer {
    /// The question.
    pub question: McpQuestion,
    /// The answer; absent = declined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Map<String, Value>>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !value
}
