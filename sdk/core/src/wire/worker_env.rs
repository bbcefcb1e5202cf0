//! References to environment variables of the worker: the values that a definition has in place of
//! secrets.

use serde_json::{Value, json};

const MEMBER: &str = "$worker_env";

/// Returns a reference to an environment variable of the worker that calls the model; JSON shape:
/// `{"$worker_env": "NAME"}`.
///
/// It replaces a string
/// - in the configuration of a hosted tool, and in `extra_headers`, `extra_body`, `extra_query` and
///   `extra_args` of the model settings,
/// - in the settings of a tool that runs in an activity (`ToolDef::setting`),
/// - in the argument and the set-up of an MCP server (`McpServer::argument`), and in the headers
///   and variables of its transport.
///
/// The worker fills in the value right before it is used, if `Resources::allow_env_for` allows
/// that for its destination, or `allow_env` for any destination. History contains the reference
/// alone, and results are recorded without the value. `worker_env!` also
/// returns a reference.
pub fn worker_env(name: impl Into<String>) -> Value {
    json!({ MEMBER: name.into() })
}

/// Returns the variable that an object refers to, if it is a reference.
pub fn referred(object: &serde_json::Map<String, Value>) -> Option<&str> {
    match object.get(MEMBER) {
        Some(Value::String(name)) if object.len() == 1 => Some(name),
        _ => None,
    }
}

/// Returns `true` if a value is a reference or contains one.
pub fn refers(value: &Value) -> bool {
    match value {
        Value::Array(values) => values.iter().any(refers),
        Value::Object(members) => referred(members).is_some() || members.values().any(refers),
        _ => false,
    }
}
