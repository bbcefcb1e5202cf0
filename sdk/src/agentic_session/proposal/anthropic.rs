//! Messages in the form of Anthropic's Messages API.

use serde_json::{Map, Value, json};
use temporal_agents_core::wire::FunctionCall;

use super::messages::{Message, Output, Part, ResponsePart};
use crate::provider::{data_url::data_url, function_shape::NOT_JSON};

/// Returns the messages in the form of the API. It has no role but user and assistant: the results
/// of one response's calls are one user message, and so is a message of the system.
pub(super) fn messages(messages: &[Message<'_>]) -> Vec<Value> {
    let mut written = Vec::new();
    for message in messages {
        match message {
            Message::Input { role: _, parts } => written.push(json!({"role": "user", "content": content(parts)})),
            Message::Response { parts, outputs } => {
                let blocks: Vec<Value> = parts.iter().map(response_block).collect();
                written.push(json!({"role": "assistant", "content": blocks}));
                if !outputs.is_empty() {
                    let results: Vec<Value> = outputs.iter().map(result).collect();
                    written.push(json!({"role": "user", "content": results}));
                }
            }
        }
    }
    written
}

/// Returns the content of a message: a single text as a string, as in the proposal.
fn content(parts: &[Part<'_>]) -> Value {
    match parts {
        [Part::Text(text)] => Value::String(text.to_string()),
        parts => parts.iter().map(block).collect(),
    }
}

fn block(part: &Part<'_>) -> Value {
    match part {
        Part::Text(text) => json!({"type": "text", "text": text}),
        Part::Image { url, detail: _ } => {
            let source = match data_url(url) {
                Some((media_type, data)) => json!({"type": "base64", "media_type": media_type, "data": data}),
                None => json!({"type": "url", "url": url}),
            };
            json!({"type": "image", "source": source})
        }
    }
}

fn response_block(part: &ResponsePart<'_>) -> Value {
    match part {
        ResponsePart::Text(text) => json!({"type": "text", "text": text}),
        ResponsePart::Call(call) => {
            json!({"type": "tool_use", "id": call.call_id, "name": call.name, "input": input(call)})
        }
    }
}

/// Returns the arguments of a call. The API requires an object, but a model may have written
/// anything.
fn input(call: &FunctionCall<'_>) -> Value {
    match serde_json::from_str(&call.arguments) {
        Ok(Value::Object(arguments)) => Value::Object(arguments),
        _ if call.arguments.trim().is_empty() => Value::Object(Map::new()),
        _ => json!({NOT_JSON: call.arguments}),
    }
}

fn result(output: &Output<'_>) -> Value {
    let content =
        if output.has_image() { output.parts.iter().map(block).collect() } else { Value::String(output.text()) };
    let mut result = json!({"type": "tool_result", "tool_use_id": output.call_id, "content": content});
    if output.is_error {
        result["is_error"] = true.into();
    }
    result
}
