//! A function that a model may call, as the APIs of providers write it.

use serde_json::{Value, json};

/// OpenAI's Chat Completions. `strict` only where it holds: false is the API's default, and not every server knows the member.
pub(crate) fn chat_completions(name: &str, description: &str, parameters: &Value, strict: bool) -> Value {
    let mut function = json!({"name": name, "description": description, "parameters": parameters});
    if strict {
        function["strict"] = true.into();
    }
    json!({"type": "function", "function": function})
}

/// OpenAI's Responses. `strict` always: here it is true unless somebody says that it is not.
pub(crate) fn responses(name: &str, description: &str, parameters: &Value, strict: bool) -> Value {
    json!({
        "type": "function",
        "name": name,
        "description": description,
        "parameters": parameters,
        "strict": strict,
    })
}

/// Anthropic's Messages.
pub(crate) fn anthropic(name: &str, description: &str, input_schema: &Value) -> Value {
    json!({"name": name, "description": description, "input_schema": input_schema})
}
