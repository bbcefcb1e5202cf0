//! The JSON forms of a function that a model may call, one for each API of the providers.

#[cfg(any(feature = "openai", feature = "anthropic"))]
use serde_json::Map;
use serde_json::{Value, json};

/// The member of Anthropic's `input` if the model's arguments are not a JSON object; the name is
/// Anthropic's own convention.
pub(crate) const NOT_JSON: &str = "INVALID_JSON";

/// Returns the arguments of a call as an object: empty, or with [`NOT_JSON`], if they are not one.
#[cfg(any(feature = "openai", feature = "anthropic"))]
pub(crate) fn arguments_object(arguments: &str) -> Map<String, Value> {
    match serde_json::from_str(arguments) {
        Ok(Value::Object(arguments)) => arguments,
        Ok(Value::Null) => Map::new(),
        _ if arguments.trim().is_empty() => Map::new(),
        _ => Map::from_iter([(NOT_JSON.to_owned(), json!(arguments))]),
    }
}

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
