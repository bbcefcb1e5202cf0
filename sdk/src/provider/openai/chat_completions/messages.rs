//! From the items of a conversation to chat messages.
//!
//! One assistant message contains the text and the calls of a model together, while items contain
//! them one after another; so assistant text and the function calls that follow it are collected
//! until another kind of item follows.

use serde_json::{Map, Value, json};
use temporal_agents_core::wire::{FunctionCall, Item, ItemView};

use crate::provider::{
    ModelError,
    data::{GENAI, PROVIDER_DATA},
    http::outgoing::{set, unsupported},
};

/// Returns the messages of a conversation, with the instructions before all others.
///
/// # Errors
/// An item or a part of one that the API cannot express; the error names its kind.
pub(super) fn project(instructions: Option<String>, input: &[Item]) -> Result<Vec<Value>, ModelError> {
    let mut messages = Messages::default();
    if let Some(instructions) = instructions {
        messages.push(json!({"role": "system", "content": instructions}));
    }
    for item in input {
        messages.add(item)?;
    }
    messages.flush();
    Ok(messages.done)
}

#[derive(Default)]
struct Messages {
    done: Vec<Value>,
    /// The assistant message that is being collected.
    assistant: Assistant,
}

#[derive(Default)]
struct Assistant {
    /// The members `content` and `refusal`.
    said: Option<Map<String, Value>>,
    tool_calls: Vec<Value>,
    /// Members that only the server understands.
    provider_data: Map<String, Value>,
}

impl Messages {
    fn add(&mut self, item: &Item) -> Result<(), ModelError> {
        match item.view() {
            ItemView::Message { role: "assistant", content } => {
                let said = assistant_content(content);
                // What a model says after its calls belongs to the message of the calls: only their
                // results may follow that message.
                if self.assistant.said.is_some() && self.assistant.tool_calls.is_empty() {
                    self.flush();
                }
                self.assistant.said = Some(match self.assistant.said.take() {
                    None => said,
                    Some(before) => joined(before, said),
                });
                self.assistant.provider_data.extend(provider_data(item));
            }
            // The API has functions only: other calls of an earlier provider are told as such.
            ItemView::FunctionCall(call) | ItemView::NativeCall { call, .. } => {
                self.assistant.tool_calls.push(tool_call(call, item));
            }
            ItemView::Reasoning => {
                // Reasoning with data of this server is sent back with the assistant message that
                // follows.
                let data = provider_data(item);
                if !data.is_empty() {
                    if self.assistant.tool_calls.is_empty() {
                        self.flush();
                    }
                    self.assistant.provider_data.extend(data);
                }
            }
            ItemView::Message { role: _, content } => {
                let message = input_message(item, content)?;
                self.push(message);
            }
            ItemView::FunctionCallOutput { call_id, output } => {
                let content = tool_content(output)?;
                self.push(json!({"role": "tool", "tool_call_id": call_id, "content": content}));
            }
            ItemView::NativeCallOutput { call_id, output } => {
                let content = output.as_str().map_or_else(|| output.to_string(), str::to_owned);
                self.push(json!({"role": "tool", "tool_call_id": call_id, "content": content}));
            }
            ItemView::HostedCall { kind } | ItemView::Other { kind } => {
                return Err(unsupported(format_args!("the Chat Completions API has no input items of kind `{kind}`")));
            }
        }
        Ok(())
    }

    fn push(&mut self, message: Value) {
        self.flush();
        self.done.push(message);
    }

    /// Ends the assistant message, if one was started.
    fn flush(&mut self) {
        let Assistant { said, tool_calls, provider_data } = std::mem::take(&mut self.assistant);
        if said.is_none() && tool_calls.is_empty() {
            return;
        }
        let mut message = provider_data;
        set(&mut message, "role", Some("assistant"));
        message.extend(said.unwrap_or_else(|| [("content".to_owned(), Value::Null)].into_iter().collect()));
        set(&mut message, "tool_calls", (!tool_calls.is_empty()).then_some(tool_calls));
        self.done.push(Value::Object(message));
    }
}

/// Returns the members that a server of this API sent with an item; those of other providers are
/// left out.
fn provider_data(item: &Item) -> Map<String, Value> {
    let mut data = item.get(PROVIDER_DATA).and_then(Value::as_object).cloned().unwrap_or_default();
    data.shift_remove(GENAI);
    data
}

/// Converts the content of an assistant message. A single text becomes a string, which every server
/// accepts; a part of an unknown kind is the server's own and passes unchanged.
fn assistant_content(content: &Value) -> Map<String, Value> {
    let mut said = Map::new();
    let Value::Array(parts) = content else {
        set(&mut said, "content", Some(content.clone()));
        return said;
    };
    let mut projected = Vec::new();
    for part in parts {
        match part["type"].as_str() {
            Some("output_text" | "input_text" | "text") => projected.push(text_part(part)),
            Some("refusal") => set(&mut said, "refusal", Some(part["refusal"].clone())),
            _ => projected.push(part.clone()),
        }
    }
    let content = match projected.as_mut_slice() {
        [] => Value::Null,
        [part] if part["type"] == "text" => part["text"].take(),
        _ => Value::Array(projected),
    };
    set(&mut said, "content", Some(content));
    said
}

/// Joins what an assistant said before and after its calls.
fn joined(mut before: Map<String, Value>, after: Map<String, Value>) -> Map<String, Value> {
    for (name, value) in after {
        let joined = match (before.shift_remove(&name), value) {
            (None | Some(Value::Null), value) => value,
            (Some(known), Value::Null) => known,
            (Some(Value::String(known)), Value::String(text)) => format!("{known}\n\n{text}").into(),
            (Some(known), value) => parts_of(known).into_iter().chain(parts_of(value)).collect(),
        };
        before.insert(name, joined);
    }
    before
}

/// Returns the parts of a content.
fn parts_of(content: Value) -> Vec<Value> {
    match content {
        Value::Array(parts) => parts,
        text => vec![json!({"type": "text", "text": text})],
    }
}

fn text_part(part: &Value) -> Value {
    json!({"type": "text", "text": part["text"]})
}

/// Converts a function call, with the members that its server sent with it.
fn tool_call(call: FunctionCall<'_>, item: &Item) -> Value {
    let FunctionCall { name, call_id, arguments, namespace: _ } = call;
    let mut tool_call = provider_data(item);
    set(&mut tool_call, "id", Some(call_id));
    set(&mut tool_call, "type", Some("function"));
    set(&mut tool_call, "function", Some(json!({"name": name, "arguments": arguments})));
    Value::Object(tool_call)
}

/// Converts a message of the user, the system or the developer, with members such as `name`.
fn input_message(item: &Item, content: &Value) -> Result<Value, ModelError> {
    let mut message = item.as_object().clone();
    for member in ["type", "id", "status", PROVIDER_DATA] {
        message.shift_remove(member);
    }
    let content = match content {
        Value::Array(parts) => parts.iter().map(input_part).collect::<Result<Vec<_>, _>>()?.into(),
        content => content.clone(),
    };
    set(&mut message, "content", Some(content));
    Ok(Value::Object(message))
}

/// Converts a part of a message; a kind that the Responses API does not have is the server's own
/// and passes unchanged.
fn input_part(part: &Value) -> Result<Value, ModelError> {
    let Some(part) = part.as_object() else { return Err(no_part("a message", None)) };
    let kind = part.get("type").and_then(Value::as_str);
    let mut rest = part.clone();
    rest.shift_remove("type");
    let (kind, member, inner) = match kind {
        Some("input_text" | "output_text") => {
            rest.shift_insert(0, "type".to_owned(), "text".into());
            return Ok(Value::Object(rest));
        }
        Some("input_image") if rest.get("image_url").is_some_and(Value::is_string) => {
            ("image_url", "image_url", take(&mut rest, &[("image_url", "url"), ("detail", "detail")]))
        }
        Some("input_file") if rest.get("file_url").is_none_or(Value::is_null) => {
            let names = [("file_id", "file_id"), ("file_data", "file_data"), ("filename", "filename")];
            ("file", "file", take(&mut rest, &names))
        }
        Some("input_image" | "input_file") | None => return Err(no_part("a message", kind)),
        Some(_) => return Ok(Value::Object(part.clone())),
    };
    let mut projected = Map::new();
    set(&mut projected, "type", Some(kind));
    set(&mut projected, member, Some(inner));
    rest.retain(|_, value| !value.is_null());
    projected.extend(rest);
    Ok(Value::Object(projected))
}

/// Moves members out of an object and renames them as in Chat Completions.
fn take(from: &mut Map<String, Value>, names: &[(&str, &str)]) -> Value {
    let moved = names.iter().filter_map(|(old, new)| {
        let value = from.shift_remove(*old).filter(|value| !value.is_null())?;
        Some(((*new).to_owned(), value))
    });
    Value::Object(moved.collect())
}

/// Converts the output of a tool: text, or parts of text.
fn tool_content(output: &Value) -> Result<Value, ModelError> {
    match output {
        Value::String(_) => Ok(output.clone()),
        Value::Array(parts) => parts
            .iter()
            .map(|part| match part["type"].as_str() {
                Some("input_text" | "output_text" | "text") => Ok(text_part(part)),
                kind => Err(no_part("a tool's output", kind)),
            })
            .collect(),
        other => Ok(Value::String(other.to_string())),
    }
}

fn no_part(of: &str, kind: Option<&str>) -> ModelError {
    let kind = kind.unwrap_or("none");
    unsupported(format_args!("the Chat Completions API cannot carry this part of {of} (kind `{kind}`)"))
}
