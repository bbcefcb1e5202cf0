//! Messages in the form of OpenAI's Chat Completions API.

use serde_json::{Value, json};
use temporal_agents_core::wire::FunctionCall;

use super::messages::{Message, Omitted, Output, Part, ResponsePart};

/// Returns the messages in the form of the API: each result of a call is a message.
pub(super) fn messages(messages: &[Message<'_>], omitted: &mut Omitted) -> Vec<Value> {
    let mut written = Vec::new();
    for message in messages {
        match message {
            Message::Input { role, parts } => {
                written.push(json!({"role": known_role(role), "content": content(parts)}));
            }
            Message::Response { parts, outputs } => {
                written.push(response(parts));
                for output in outputs {
                    if output.has_image() {
                        omitted.insert("image in the output of a tool".to_owned());
                    }
                    written.push(result(output));
                }
            }
        }
    }
    written
}

fn known_role(role: &str) -> &str {
    if matches!(role, "system" | "developer") { role } else { "user" }
}

fn content(parts: &[Part<'_>]) -> Value {
    match parts {
        [Part::Text(text)] => Value::String(text.to_string()),
        parts => parts.iter().map(part).collect(),
    }
}

fn part(part: &Part<'_>) -> Value {
    match part {
        Part::Text(text) => json!({"type": "text", "text": text}),
        Part::Image { url, detail } => {
            let mut image = json!({"url": url});
            if let Some(detail) = detail {
                image["detail"] = (*detail).into();
            }
            json!({"type": "image_url", "image_url": image})
        }
    }
}

fn response(parts: &[ResponsePart<'_>]) -> Value {
    let (mut texts, mut calls) = (Vec::new(), Vec::new());
    for part in parts {
        match part {
            ResponsePart::Text(text) => texts.push(&**text),
            ResponsePart::Call(call) => calls.push(tool_call(call)),
        }
    }
    let content = match *texts {
        [] => Value::Null,
        [text] => Value::String(text.to_owned()),
        _ => texts.into_iter().map(|text| json!({"type": "text", "text": text})).collect(),
    };
    let mut message = json!({"role": "assistant", "content": content});
    if !calls.is_empty() {
        message["tool_calls"] = Value::Array(calls);
    }
    message
}

fn tool_call(call: &FunctionCall<'_>) -> Value {
    let arguments = if call.arguments.trim().is_empty() { "{}" } else { &*call.arguments };
    let function = json!({"name": call.name, "arguments": arguments});
    json!({"id": call.call_id, "type": "function", "function": function})
}

fn result(output: &Output<'_>) -> Value {
    json!({"role": "tool", "tool_call_id": output.call_id, "content": output.text()})
}
