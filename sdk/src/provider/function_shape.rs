//! The JSON forms of a function that a model may call, one for each API of the providers.

use serde_json::{Value, json};

/// The member of Anthropic's `input` if the model's arguments are not a JSON object; the name is
/// Anthropic's own convention.
pub(crate) const NOT_JSON: &str = "INVALID_JSON";

/// Returns the form of OpenAI's Chat Completions. `strict` is sent only if it is true: false is the
/// API's default, and not every server knows the member.
pub(crate) fn chat_completions(name: &str, description: &str, parameters: &Value, strict: bool) -> Value {
    let mut function = json!({"name": name, "description": description, "parameters": parameters});
    if strict {
        function["strict"] = true.into();
    }
    json!({"type": "function", "function": function})
}

/// Returns the form of OpenAI's Responses. `strict` is always sent, because the API's default is
/// true.
pub(crate) fn responses(name: &str, description: &str, parameters: &Value, strict: bool) -> Value {
    json!({
        "type": "function",
        "name": name,
        "description": description,
        "parameters": parameters,
        "strict": strict,
    })
}

/// Returns the form of Anthropic's Messages.
pub(crate) fn anthropic(name: &str, description: &str, input_schema: &Value) -> Value {
    json!({"name": name, "description": description, "input_schema": input_schema})
}
