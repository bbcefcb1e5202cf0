//! Converts the result of a tool to the form that the model receives.
//!
//! # Design
//! **A model never receives an empty text.** The protocol says that a server *should* repeat
//! structured content as text, not that it must, and a tool may have nothing to say. The model
//! then receives the structured content, or else a sentence: from an empty output it cannot tell a
//! call that worked from a result that was lost.

use serde::Serialize;
use serde_json::{Value, json};
use temporal_agents_core::wire::ToolOutput;

/// The output of a result with neither text nor structured content.
const NOTHING: &str = "The tool returned no content.";
/// The message of an error with neither text nor structured content.
const NO_REASON: &str = "The tool failed without giving a reason.";

/// The content of a tool's result.
pub(super) struct ResultContent {
    blocks: Vec<Value>,
    structured: Option<Value>,
}

impl ResultContent {
    /// Creates the content of a result with these blocks and this structured content; `null`
    /// counts as absent.
    ///
    /// # Errors
    /// A block that cannot be written as JSON.
    pub(super) fn new(blocks: &[impl Serialize], structured: Option<Value>) -> serde_json::Result<Self> {
        let blocks = blocks.iter().map(serde_json::to_value).collect::<serde_json::Result<_>>()?;
        Ok(Self { blocks, structured: structured.filter(|value| !value.is_null()) })
    }

    /// Returns the output.
    ///
    /// Blocks of text only become one string, joined by line breaks. If there are other blocks,
    /// each block becomes a content part: an image becomes an image, and a block that the Responses
    /// API has no part for becomes its JSON. Structured content replaces all blocks if it is preferred, and
    /// otherwise only texts that are blank.
    ///
    /// # Source
    /// `MCPUtil.invoke_mcp_tool` of the OpenAI Agents SDK, which returns several texts as several
    /// parts, and ignores structured content that is not preferred.
    pub(super) fn output(self, prefers_structured: bool) -> ToolOutput {
        match &self.structured {
            Some(structured) if prefers_structured => ToolOutput::Text(structured.to_string()),
            _ => self.text_or_parts(NOTHING),
        }
    }

    /// Returns the message of an error: its blocks, or structured content if all texts are blank.
    pub(super) fn error(self) -> ToolOutput {
        self.text_or_parts(NO_REASON)
    }

    /// Returns the blocks. Blank texts become the structured content, or else this sentence.
    fn text_or_parts(self, otherwise: &str) -> ToolOutput {
        let Some(texts) = self.blocks.iter().map(text_of).collect::<Option<Vec<&str>>>() else {
            return ToolOutput::Content(self.blocks.iter().map(part).collect());
        };
        ToolOutput::Text(match self.structured {
            _ if texts.iter().any(|text| !text.trim().is_empty()) => texts.join("\n"),
            Some(structured) => structured.to_string(),
            None => otherwise.to_owned(),
        })
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
