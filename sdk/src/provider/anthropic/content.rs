//! The parts of messages and of tool results, as blocks of the API.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Map, Value, json};
use temporal_agents_core::wire::Item;

use crate::provider::{ModelError, data_url::data_url, http::outgoing::unsupported};

/// Returns the content of a message of the user: a text, or blocks.
///
/// # Errors
/// A part that the API has no block for; the error names its kind.
pub(super) fn user_content(adapter: &str, content: &Value) -> Result<Value, ModelError> {
    match content {
        Value::Array(parts) => {
            let block = |part: &Value| block(part).ok_or_else(|| no_part(adapter, "a message", part));
            parts.iter().map(block).collect()
        }
        content => Ok(content.as_str().unwrap_or_default().into()),
    }
}

/// Returns the text of a message of the system or the developer, its parts separated by blank lines.
///
/// # Errors
/// A part that is not text; the error names its kind.
pub(super) fn system_text(adapter: &str, content: &Value) -> Result<String, ModelError> {
    let Value::Array(parts) = content else { return Ok(content.as_str().unwrap_or_default().to_owned()) };
    let text =
        |part: &Value| text(part).map(str::to_owned).ok_or_else(|| no_part(adapter, "a message of the system", part));
    Ok(parts.iter().map(text).collect::<Result<Vec<_>, _>>()?.join("\n\n"))
}

/// Returns the blocks of a model's message. Empty text is left out: the API refuses it, and it has
/// no meaning.
///
/// # Errors
/// A part that is neither text nor a refusal; the error names its kind.
pub(super) fn assistant_blocks(adapter: &str, content: &Value) -> Result<Vec<Value>, ModelError> {
    let said = |part: &Value| {
        let said = text(part).or_else(|| part["refusal"].as_str().filter(|_| part["type"] == "refusal"));
        said.map(str::to_owned).ok_or_else(|| no_part(adapter, "an assistant's message", part))
    };
    let texts = match content {
        Value::Array(parts) => parts.iter().map(said).collect::<Result<Vec<_>, _>>()?,
        content => content.as_str().map(str::to_owned).into_iter().collect(),
    };
    Ok(texts.into_iter().filter(|text| !text.is_empty()).map(text_block).collect())
}

/// Returns the block for the result of a call, with the API's flag for errors.
///
/// # Errors
/// A part that the API has no block for; the error names its kind.
pub(super) fn result(adapter: &str, item: &Item, call_id: &str, output: &Value) -> Result<Value, ModelError> {
    let content = match output {
        Value::Array(parts) => {
            let block = |part: &Value| block(part).ok_or_else(|| no_part(adapter, "a tool's output", part));
            parts.iter().map(block).collect::<Result<Value, _>>()?
        }
        Value::String(text) => text.as_str().into(),
        other => other.to_string().into(),
    };
    let mut block = Map::new();
    block.insert("type".to_owned(), "tool_result".into());
    block.insert("tool_use_id".to_owned(), call_id.into());
    block.insert("content".to_owned(), content);
    if item.is_tool_error() {
        block.insert("is_error".to_owned(), true.into());
    }
    Ok(Value::Object(block))
}

fn no_part(adapter: &str, of: &str, part: &Value) -> ModelError {
    let kind = part["type"].as_str().unwrap_or("none");
    unsupported(format_args!("{adapter} cannot carry this part of {of} (kind `{kind}`)"))
}

fn text_block(text: impl Into<String>) -> Value {
    json!({"type": "text", "text": text.into()})
}

fn text(part: &Value) -> Option<&str> {
    part["text"].as_str().filter(|_| matches!(part["type"].as_str(), Some("input_text" | "output_text" | "text")))
}

fn block(part: &Value) -> Option<Value> {
    match part["type"].as_str() {
        Some("input_text" | "output_text" | "text") => text(part).map(text_block),
        Some("input_image") => part["image_url"].as_str().map(|url| json!({"type": "image", "source": source(url)})),
        Some("input_file") => file(part),
        _ => None,
    }
}

/// Returns the source of an image or a document: the bytes in a `data:` URL, or an address.
fn source(url: &str) -> Value {
    match data_url(url) {
        Some((media_type, data)) => json!({"type": "base64", "media_type": media_type, "data": data}),
        None => json!({"type": "url", "url": url}),
    }
}

fn file(part: &Value) -> Option<Value> {
    if let Some(url) = part["file_data"].as_str() {
        let (media_type, data) = data_url(url)?;
        let plain = || String::from_utf8(BASE64_STANDARD.decode(data).ok()?).ok();
        if media_type.starts_with("image/") {
            return Some(json!({"type": "image", "source": source(url)}));
        }
        // Text has a source of its own: the API takes only PDFs as bytes.
        let source = match plain().filter(|_| media_type.starts_with("text/")) {
            Some(text) => json!({"type": "text", "media_type": "text/plain", "data": text}),
            None => source(url),
        };
        return Some(json!({"type": "document", "source": source}));
    }
    part["file_url"].as_str().map(|url| json!({"type": "document", "source": {"type": "url", "url": url}}))
}
