//! Converts the result of a tool to the form that the model receives.

use serde_json::{Value, json};

use crate::wire::ToolOutput;

/// Returns the output of a tool whose result has these blocks.
///
/// Blocks of text only become one string, joined by line breaks. If there are other blocks, each
/// block becomes a content part: images as images, and blocks for which the Responses API has no
/// part as their JSON. Structured content, if requested, replaces the blocks.
///
/// # Source
/// `MCPUtil.invoke_mcp_tool` of the OpenAI Agents SDK, which returns several texts as several
/// parts.
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
