//! What a tool returned, as the model gets it.

use serde_json::{Value, json};

use crate::wire::ToolOutput;

/// The output of a tool whose result has these blocks.
///
/// Texts alone are one text, a line break between two. With anything else among them each block is a content part: images as images, what
/// the Responses API has no part for as its JSON. Structured content, where it is wanted, is all there is.
///
/// # Source
/// `MCPUtil.invoke_mcp_tool` of the OpenAI Agents SDK, which gives several texts as several parts.
pub(super) fn output(blocks: Vec<Value>, structured: Option<Value>) -> ToolOutput {
    if let Some(structured) = structured {
        return ToolOutput::Text(structured.to_string());
    }
    let texts: Option<Vec<&str>> = blocks.iter().map(text_of).collect();
    match texts {
        Some(texts) => ToolOutput::Text(texts.join("\n")),
        None => ToolOutput::Content(blocks.iter().map(part).collect()),
    }
}

fn text_of(block: &Value) -> Option<&str> {
    if block["type"] == "text" { block["text"].as_str() } else { None }
}

fn part(block: &Value) -> Value {
    if let Some(text) = text_of(block) {
        return json!({"type": "input_text", "text": text});
    }
    match (block["type"].as_str(), block["mimeType"].as_str(), block["data"].as_str()) {
        (Some("image"), Some(kind), Some(data)) => {
            json!({"type": "input_image", "image_url": format!("data:{kind};base64,{data}")})
        }
        _ => json!({"type": "input_text", "text": block.to_string()}),
    }
}

#[cfg(test)]
mod tests;
