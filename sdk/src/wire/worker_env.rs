//! References to environment variables of the worker: what a definition says in place of a secret.

use serde_json::{Value, json};

const MEMBER: &str = "$worker_env";

/// A reference to an environment variable of the worker that calls the model; JSON shape: `{"$worker_env": "NAME"}`.
///
/// It stands in place of a text in the configuration of a hosted tool, and in `extra_headers`, `extra_body`, `extra_query` and
/// `extra_args` of the model settings. The worker puts the value in right before the request goes out, if `AgentsPlugin::allow_env` allows
/// that; history holds the reference alone. [`worker_env!`](crate::worker_env) makes one, too.
pub fn worker_env(name: impl Into<String>) -> Value {
    json!({ MEMBER: name.into() })
}

/// The variable that an object refers to, where it is a reference.
#[cfg(feature = "worker")]
pub(crate) fn referred(object: &serde_json::Map<String, Value>) -> Option<&str> {
    match object.get(MEMBER) {
        Some(Value::String(name)) if object.len() == 1 => Some(name),
        _ => None,
    }
}
