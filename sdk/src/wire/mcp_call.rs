//! What a workflow asks a server of the Model Context Protocol (MCP) through an activity, apart from tool calls.
//!
//! A tool call is a [`ToolRequest`](super::ToolRequest) with an [`McpTarget`] in it, so that conversations refer to what it returned
//! as to any other tool's. Nothing here holds a secret: addresses and headers are the worker's.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};

use super::{
    schema::Schema,
    version::{Versioned, WireVersion},
};

/// What the types of the activities of MCP servers begin with; the server's name and what is asked follow, as in
/// `agents.mcp.files.list_tools`.
pub const MCP_ACTIVITY: &str = "agents.mcp";
/// What ends the type of the activity that calls a tool.
pub const MCP_CALL_TOOL: &str = "call_tool";

/// What a workflow asks a server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct McpRequest {
    /// The version of this message.
    pub version: WireVersion,
    /// What to do.
    pub operation: McpOperation,
    /// What the worker's factory makes the connection from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argument: Option<Value>,
    /// The session to ask in, with a stateful server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// What to do. An *instruction* kind: one that is not known is refused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum McpOperation {
    /// List the tools: `{"tools": [McpTool]}`. Tools whose schemas are too large are not in it, but, only then, in
    /// `"leftOut": [{"name": .., "reason": ..}]`.
    ListTools,
    /// List the prompts: `{"prompts": [..]}`, each as the server gives it.
    ListPrompts,
    /// Give a prompt: `{"description": .., "messages": [..]}`.
    GetPrompt {
        /// Its name.
        name: String,
        /// Its arguments.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        arguments: Map<String, Value>,
    },
    /// List the resources: `{"resources": [..]}`.
    ListResources,
    /// List the templates of resources: `{"resourceTemplates": [..]}`.
    ListResourceTemplates,
    /// Read a resource: `{"contents": [..]}`.
    ReadResource {
        /// Its address.
        uri: String,
    },
    /// Open a session: [`McpOpened`].
    OpenSession {
        /// The calls that begin it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        set_up: Vec<McpSetUp>,
        /// How long it stays open unused, in seconds.
        idle_seconds: u64,
        /// Whether the server may ask people during calls.
        #[serde(default, skip_serializing_if = "is_false")]
        asks_people: bool,
    },
    /// Close the session: null.
    CloseSession,
}

/// A call that begins a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct McpSetUp {
    /// The tool's name at the server.
    pub tool: String,
    /// Its arguments; references to variables of the worker are filled in there.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub arguments: Map<String, Value>,
}

/// A session that a worker has opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpOpened {
    /// The task queue of the worker that holds it, and of no other.
    pub task_queue: String,
    /// Its id there.
    pub session: String,
}

/// A session of a run with a stateful server, as the run's state has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct McpSession {
    /// The server.
    pub server: String,
    /// What its connection was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argument: Option<Value>,
    /// The task queue of the worker that holds it, and of no other.
    pub task_queue: String,
    /// Its id there.
    pub id: String,
}

impl McpOperation {
    /// What opens and closes sessions.
    pub const OF_SESSIONS: [&str; 2] = ["open_session", "close_session"];

    /// All that can be asked of a server, by name.
    pub const NAMES: [&str; 6] =
        ["list_tools", "list_prompts", "get_prompt", "list_resources", "list_resource_templates", "read_resource"];

    /// Its name, the end of the activity's type.
    pub fn name(&self) -> &'static str {
        match self {
            Self::ListTools => "list_tools",
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

/// What a server answered, as the protocol writes it, less what nobody here reads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct McpReply {
    /// The version of this message.
    pub version: WireVersion,
    /// The answer; [`McpOperation`] has the shapes.
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

/// A tool of a server, as the protocol writes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpTool {
    /// Its name at the server.
    pub name: String,
    /// What it does, for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The JSON schema of its arguments. A list that leaves it out, or has null for it, means any object.
    #[serde(default = "any_object", deserialize_with = "schema_or_any_object")]
    pub input_schema: Schema,
    /// What the server says of it, not to be relied on: `title`, `readOnlyHint`, `destructiveHint`, `idempotentHint`,
    /// `openWorldHint`.
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
    /// What the server says of it under this name, where that is a truth value.
    pub fn hint(&self, name: &str) -> Option<bool> {
        self.annotations.get(name).and_then(Value::as_bool)
    }
}

/// Which tool of a server is called, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct McpTarget {
    /// The server.
    pub server: String,
    /// The tool's name at the server.
    pub tool: String,
    /// What the worker's factory makes the connection from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argument: Option<Value>,
    /// The session of the call, with a stateful server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// What the server gets as `_meta`.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub meta: Map<String, Value>,
    /// Whether the structured content of a result is what the model gets, where there is any.
    #[serde(default, skip_serializing_if = "is_false")]
    pub structured_content: bool,
    /// What people have answered the server so far; absent = nobody is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<Vec<McpAnswer>>,
    /// Whether the call must not be made twice.
    #[serde(default, skip_serializing_if = "is_false")]
    pub once: bool,
}

/// What a server asks people in the middle of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpQuestion {
    /// What people are told.
    pub message: String,
    /// The JSON schema of the answer: an object of texts, numbers, truth values and choices.
    pub schema: Value,
}

/// What people have answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpAnswer {
    /// What they were asked.
    pub question: McpQuestion,
    /// Their answer; absent = they decline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Map<String, Value>>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_false(value: &bool) -> bool {
    !value
}
