//! References to environment variables of the worker: what a definition says in place of a secret.

use serde_json::{Value, json};

const MEMBER: &str = "$worker_env";

/// A reference to an environment variable of the worker that calls the model; JSON shape: `{"$worker_env": "NAME"}`.
///
/// It stands in place of a text
/// - in the configuration of a hosted tool, and in `extra_headers`, `extra_body`, `extra_query` and `extra_args` of the model settings,
/// - in the settings of a tool that runs in an activity (`ToolDef::setting`),
/// - in the argument and the set-up of an MCP server (`McpServer::argument`), and in the headers and variables of its transport.
///
/// The worker puts the value in right before it is used, if `AgentsPlugin::allow_env_for` allows that for where it goes, or `allow_env` for
/// any place; history holds the reference alone, and
/// what comes back is recorded without the value. [`worker_env!`](crate::worker_env) makes one, too.
pub fn worker_env(name: impl Into<String>) -> Value {
    json!({ MEMBER: name.into() })
}

/// The variable that an object refers to, where it is a reference.
pub(crate) fn referred(object: &serde_json::Map<String, Value>) -> Option<&str> {
    match object.get(MEMBER) {
        Some(Value::String(name)) if object.len() == 1 => Some(name),
        _ => None,
    }
}

/// Whether a value is a reference, or holds one.
pub(crate) fn refers(value: &Value) -> bool {
    match value {
        Value::Array(values) => values.iter().any(refers),
        Value::Object(members) => referred(members).is_some() || members.values().any(refers),
        _ => false,
    }
}
