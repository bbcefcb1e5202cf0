//! Reads a checkpoint of the proposal.

use serde_json::{Value, json};
use temporal_agents_core::wire::{Item, SessionCheckpoint, session_checkpoint::SessionRun};

use super::VERSION;

/// Reads such a checkpoint. The first run begins with its conversation and owns its results.
///
/// # Errors
/// The reason why `details` is not such a checkpoint.
pub(in crate::agentic_session) fn read(details: Value) -> Result<SessionCheckpoint, String> {
    let details = match details {
        Value::String(text) => serde_json::from_str(&text).map_err(|error| format!("its text is not JSON: {error}"))?,
        other => other,
    };
    let Value::Object(mut members) = details else { return Err("it is not a JSON object".to_owned()) };
    match members.get("version") {
        None => tracing::warn!("the checkpoint has no version; it is read as version 1"),
        Some(version) if version.as_u64() == Some(VERSION) => {}
        Some(version) => return Err(format!("it has version {version}, and this build reads version {VERSION}")),
    }
    let Some(Value::Array(messages)) = members.remove("messages") else {
        return Err("it has no list of \"messages\"".to_owned());
    };
    let results = match members.remove("results").or_else(|| members.remove("issues")) {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(results)) => results,
        Some(_) => return Err("its \"results\" are not a list".to_owned()),
    };
    let mut conversation = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let items = items_of(message).map_err(|why| format!("message {index}: {why}"))?;
        conversation.extend(items);
    }
    let conversation = (!conversation.is_empty()).then_some(conversation);
    Ok(SessionCheckpoint {
        origins: vec![Some(0); results.len()],
        results,
        runs: vec![SessionRun { conversation, ..SessionRun::default() }],
        ..SessionCheckpoint::new()
    })
}

/// Converts a message to items.
fn items_of(message: &Value) -> Result<Vec<Item>, String> {
    let role = text_of(message, "role")?;
    if role == "tool" {
        let output = plain_text(&message["content"])?;
        return Ok(vec![Item::function_call_output(text_of(message, "tool_call_id")?, output.into())]);
    }
    let mut items = match &message["content"] {
        Value::Null => Vec::new(),
        Value::String(text) => vec![Item::message(role, text.as_str())],
        Value::Array(blocks) => items_of_blocks(role, blocks)?,
        _ => return Err("its content is neither a string nor a list".to_owned()),
    };
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        let function = &call["function"];
        let arguments = match text_of(function, "arguments")? {
            "" => "{}",
            arguments => arguments,
        };
        items.push(Item::function_call(text_of(call, "id")?, text_of(function, "name")?, arguments));
    }
    Ok(items)
}

/// Converts the blocks of Anthropic's, or the parts of OpenAI's, to items. Texts and images of a
/// message to the model are one item; each text of a model is an item.
fn items_of_blocks(role: &str, blocks: &[Value]) -> Result<Vec<Item>, String> {
    let (mut items, mut parts) = (Vec::new(), Vec::new());
    for block in blocks {
        match text_of(block, "type")? {
            "text" if role == "assistant" => items.push(Item::message(role, text_of(block, "text")?)),
            "tool_use" => {
                let input = block.get("input").filter(|input| !input.is_null());
                let arguments = input.map_or_else(|| "{}".to_owned(), Value::to_string);
                items.push(Item::function_call(text_of(block, "id")?, text_of(block, "name")?, arguments));
            }
            "tool_result" => {
                let (call_id, output) = (text_of(block, "tool_use_id")?, tool_output(&block["content"])?);
                let is_error = block["is_error"] == true;
                let item = if is_error { Item::failed_function_call_output } else { Item::function_call_output };
                items.push(item(call_id, output));
            }
            "thinking" | "redacted_thinking" => {}
            _ => parts.push(part_of(block)?),
        }
    }
    match parts.as_slice() {
        [] => {}
        [part] if part["type"] == "input_text" => items.push(Item::message(role, text_of(part, "text")?)),
        _ => items.push(Item::message(role, "").with("content", Value::Array(parts))),
    }
    Ok(items)
}

/// Converts a text or an image to a content part.
fn part_of(block: &Value) -> Result<Value, String> {
    Ok(match text_of(block, "type")? {
        "text" => json!({"type": "input_text", "text": text_of(block, "text")?}),
        "image" => {
            let source = &block["source"];
            let url = match text_of(source, "type")? {
                "base64" => {
                    format!("data:{};base64,{}", text_of(source, "media_type")?, text_of(source, "data")?)
                }
                _ => text_of(source, "url")?.to_owned(),
            };
            json!({"type": "input_image", "image_url": url})
        }
        "image_url" => {
            let image = &block["image_url"];
            let mut part = json!({"type": "input_image", "image_url": text_of(image, "url")?});
            if let Some(detail) = image.get("detail") {
                part["detail"] = detail.clone();
            }
            part
        }
        other => return Err(format!("a block has the unknown type {other:?}")),
    })
}

/// Returns the output of a tool: its text, or its parts if it has an image.
fn tool_output(content: &Value) -> Result<Value, String> {
    match content.as_array() {
        Some(parts) if parts.iter().any(|part| part["type"] == "image") => parts.iter().map(part_of).collect(),
        _ => Ok(plain_text(content)?.into()),
    }
}

/// Returns the text of a content: the string itself, or its parts joined.
fn plain_text(content: &Value) -> Result<String, String> {
    match content {
        Value::Null => Ok(String::new()),
        Value::String(text) => Ok(text.clone()),
        Value::Array(parts) => parts.iter().map(|part| text_of(part, "text")).collect(),
        _ => Err("the output of a tool is neither a string nor a list of text parts".to_owned()),
    }
}

fn text_of<'v>(value: &'v Value, member: &str) -> Result<&'v str, String> {
    value.get(member).and_then(Value::as_str).ok_or_else(|| format!("it has no string {member:?}"))
}
