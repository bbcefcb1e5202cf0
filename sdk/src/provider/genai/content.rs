//! The parts of messages: text, images and files, each to the extent that its adapter supports it.

use ::genai::chat::ContentPart;
use serde_json::{Value, json};

use super::dialect::{Dialect, Shape};
use crate::provider::{ModelError, data_url::data_url, http::outgoing::unsupported};

/// Returns the parts of a message of the user, the system or the developer.
///
/// # Errors
/// A part that the adapter cannot carry; the error names its kind.
pub(super) fn input(dialect: &Dialect, content: &Value) -> Result<Vec<ContentPart>, ModelError> {
    match content {
        Value::Array(parts) => parts.iter().map(|part| input_part(dialect, part)).collect(),
        content => Ok(text(content).into_iter().collect()),
    }
}

/// Returns the parts of a model's message. Empty text is left out: Anthropic refuses it, and it has
/// no meaning.
///
/// # Errors
/// A part that is neither text nor a refusal; the error names its kind.
pub(super) fn assistant(dialect: &Dialect, content: &Value) -> Result<Vec<ContentPart>, ModelError> {
    let parts = match content {
        Value::Array(parts) => parts
            .iter()
            .map(|part| match part["type"].as_str() {
                Some("refusal") => Ok(text(&part["refusal"])),
                Some("output_text" | "input_text" | "text") => Ok(text(&part["text"])),
                kind => Err(no_part(dialect, "an assistant's message", kind)),
            })
            .collect::<Result<Vec<_>, _>>()?,
        content => vec![text(content)],
    };
    let is_something = |part: &ContentPart| part.as_text() != Some("");
    Ok(parts.into_iter().flatten().filter(is_something).collect())
}

/// Returns the failure of a part that cannot be carried.
pub(super) fn no_part(dialect: &Dialect, of: &str, kind: Option<&str>) -> ModelError {
    let (adapter, kind) = (&dialect.adapter, kind.unwrap_or("none"));
    unsupported(format_args!("{adapter} (through genai) cannot carry this part of {of} (kind `{kind}`)"))
}

fn text(value: &Value) -> Option<ContentPart> {
    value.as_str().map(|text| ContentPart::Text(text.to_owned()))
}

fn input_part(dialect: &Dialect, part: &Value) -> Result<ContentPart, ModelError> {
    let kind = part["type"].as_str();
    let carried = match kind {
        Some("input_text" | "output_text" | "text") => text(&part["text"]),
        Some("input_image") => part["image_url"].as_str().and_then(|url| image(dialect, url)),
        Some("input_file") => file(dialect, part),
        _ => None,
    };
    carried.ok_or_else(|| no_part(dialect, "a message", kind))
}

/// Returns an image: its bytes in a `data:` URL can be sent to all adapters, an address only to
/// those whose provider fetches it.
fn image(dialect: &Dialect, url: &str) -> Option<ContentPart> {
    match (data_url(url), dialect.shape) {
        (Some((media_type, data)), _) => Some(ContentPart::from_binary_base64(media_type, data, None)),
        // Sent as a custom block, because the crate would leave it out.
        (None, Shape::Anthropic) => {
            Some(ContentPart::from_custom(json!({"type": "image", "source": {"type": "url", "url": url}}), None))
        }
        (None, Shape::OpenAi) => Some(ContentPart::from_binary_url("image/*", url, None)),
        (None, Shape::Gemini | Shape::Plain) => None,
    }
}

/// Returns a file: its bytes in a `data:` URL, or for Anthropic the address of a PDF.
fn file(dialect: &Dialect, part: &Value) -> Option<ContentPart> {
    let name = part["filename"].as_str().map(str::to_owned);
    if let Some((media_type, data)) = part["file_data"].as_str().and_then(data_url) {
        let carried = dialect.shape != Shape::Plain || media_type.starts_with("image/");
        return carried.then(|| ContentPart::from_binary_base64(media_type, data, name));
    }
    let url = part["file_url"].as_str()?;
    (dialect.shape == Shape::Anthropic).then(|| ContentPart::from_binary_url("application/pdf", url, name))
}
