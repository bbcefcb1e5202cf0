//! The results of tools, in the form in which they are sent back to the model.

use ::genai::chat::{ContentPart, ToolResponse};
use serde_json::{Map, Value, json};

use super::{
    content::no_part,
    dialect::{Dialect, Shape},
};
use crate::provider::{ModelError, data_url::data_url};
use temporal_agents_core::wire::Item;

/// Converts the result of a call.
///
/// Anthropic's API, of Claude on Vertex, has a flag for errors, and supports images. The crate's own
/// type has room for neither, so such results are sent as the blocks of that API.
///
/// # Errors
/// A part that the adapter cannot carry; the error names its kind.
pub(super) fn part(dialect: &Dialect, item: &Item, call_id: &str, output: &Value) -> Result<ContentPart, ModelError> {
    if dialect.shape == Shape::Anthropic {
        let is_text = output.is_string();
        let is_error = item.is_tool_error();
        if is_error || !is_text {
            return Ok(ContentPart::from_custom(block(dialect, call_id, output, is_error)?, None));
        }
    }
    Ok(ContentPart::ToolResponse(ToolResponse::new(call_id, text(dialect, output)?)))
}

/// Returns a `tool_result` block of Anthropic.
fn block(dialect: &Dialect, call_id: &str, output: &Value, is_error: bool) -> Result<Value, ModelError> {
    let content = match output {
        Value::Array(parts) => parts.iter().map(|part| block_part(dialect, part)).collect::<Result<Value, _>>()?,
        Value::String(_) => output.clone(),
        other => Value::String(other.to_string()),
    };
    let mut block = Map::new();
    block.insert("type".to_owned(), "tool_result".into());
    block.insert("tool_use_id".to_owned(), call_id.into());
    block.insert("content".to_owned(), content);
    if is_error {
        block.insert("is_error".to_owned(), true.into());
    }
    Ok(Value::Object(block))
}

fn block_part(dialect: &Dialect, part: &Value) -> Result<Value, ModelError> {
    let kind = part["type"].as_str();
    match kind {
        Some("input_text" | "output_text" | "text") => Some(json!({"type": "text", "text": part["text"]})),
        Some("input_image") => part["image_url"]
            .as_str()
            .map(|url| match data_url(url) {
                Some((media_type, data)) => json!({"type": "base64", "media_type": media_type, "data": data}),
                None => json!({"type": "url", "url": url}),
            })
            .map(|source| json!({"type": "image", "source": source})),
        _ => None,
    }
    .ok_or_else(|| no_part(dialect, "a tool's output", kind))
}

/// Returns the result as text, the only form that other adapters support.
fn text(dialect: &Dialect, output: &Value) -> Result<String, ModelError> {
    match output {
        Value::String(text) => Ok(text.clone()),
        Value::Array(parts) => {
            let texts = parts.iter().map(|part| match part["type"].as_str() {
                Some("input_text" | "output_text" | "text") => Ok(part["text"].as_str().unwrap_or_default()),
                kind => Err(no_part(dialect, "a tool's output", kind)),
            });
            Ok(texts.collect::<Result<Vec<_>, _>>()?.join("\n"))
        }
        other => Ok(other.to_string()),
    }
}
