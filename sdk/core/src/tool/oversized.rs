//! Handling of an output that is larger than history can hold, or than the author wants a model to
//! read.

use serde_json::{Value, json};

use crate::wire::{
    ToolOutput,
    size::{Bytes, MOST_BYTES, encoded_len},
};

/// The handling of an output over the tool's limit
/// ([`ToolDef::max_output_bytes`](super::ToolDef::max_output_bytes)).
///
/// The output is measured as JSON, before any codec of the data converter, where the body runs: on
/// the worker before it returns the output, in the workflow for inline tools and agents. Without
/// the limit the server would refuse a payload over 2 MiB, and the activity would be retried again
/// and again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OversizedOutput {
    /// The call fails with the kind [`Oversized`](super::ToolFailureKind::Oversized): the model
    /// gets a message with the size of the output, or the message that
    /// [`OnToolError`](super::OnToolError) returns.
    #[default]
    ToModel,
    /// The model gets as much of the beginning as fits, and a marker with the size of the part that
    /// is left out.
    Truncate,
    /// The worker's `SpillStore` keeps the output; the model gets the reference that the store
    /// returns, and a preview.
    ///
    /// Not for inline tools and agents: they run in the workflow, which cannot write to a store.
    Spill,
}

/// The limit for a tool's outputs, and the handling of outputs above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputLimit {
    pub bytes: usize,
    pub above: OversizedOutput,
}

impl Default for OutputLimit {
    fn default() -> Self {
        Self { bytes: MOST_BYTES, above: OversizedOutput::default() }
    }
}

/// The error of an output that is over the limit of its tool.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("tool {tool:?} returned {}, the limit is {}", Bytes(*bytes), Bytes(*limit))]
pub struct OutputTooLarge {
    pub(crate) tool: String,
    pub(crate) bytes: usize,
    pub(crate) limit: usize,
}

impl OutputLimit {
    /// Measures an output; returns `None` if it fits.
    pub fn exceeded_by(self, tool: &str, output: &ToolOutput) -> Option<OutputTooLarge> {
        // An output that cannot be written as JSON fails where it is sent, so it passes here.
        let bytes = encoded_len(output).unwrap_or_default();
        (bytes > self.bytes).then(|| OutputTooLarge { tool: tool.to_owned(), bytes, limit: self.bytes })
    }

    /// Returns the output as far as this is possible without a store: whole, or truncated.
    ///
    /// # Errors
    /// [`OutputTooLarge`] if the output does not fit and may not be truncated.
    pub fn fit(self, tool: &str, output: ToolOutput) -> Result<ToolOutput, OutputTooLarge> {
        match (self.exceeded_by(tool, &output), self.above) {
            (None, _) => Ok(output),
            (Some(_), OversizedOutput::Truncate) => Ok(truncated(output, self.bytes)),
            (Some(too_large), _) => Err(too_large),
        }
    }
}

/// Most bytes of a failure's message: from an activity it is sent twice, as the failure's message
/// and for the model.
pub const MAX_FAILURE_BYTES: usize = 100_000;

/// Most bytes of a marker, including the quotes of JSON.
const MARKER: usize = 200;

/// Returns as much of the beginning as fits into `limit` bytes of JSON, and a marker.
pub fn truncated(output: ToolOutput, limit: usize) -> ToolOutput {
    let room = limit.saturating_sub(MARKER);
    match output {
        ToolOutput::Text(text) => {
            let kept = beginning(&text, room);
            let gone = text.len() - kept.len();
            ToolOutput::Text(format!("{kept}\n[truncated: {gone} of {} bytes are left out]", text.len()))
        }
        ToolOutput::Content(parts) => ToolOutput::Content(truncated_parts(parts, room)),
    }
}

/// Keeps whole parts while they fit; the text of the first part that does not fit is truncated.
fn truncated_parts(parts: Vec<Value>, mut room: usize) -> Vec<Value> {
    let all = parts.len();
    let mut kept = Vec::new();
    for mut part in parts {
        let bytes = encoded_len(&part).unwrap_or(usize::MAX).saturating_add(1);
        if bytes <= room {
            room -= bytes;
            kept.push(part);
            continue;
        }
        // The bytes of the part besides its text.
        let around = part["text"].as_str().map_or(bytes, |text| bytes - encoded_len(text).unwrap_or(bytes));
        if let Some(Value::String(text)) = part.get_mut("text") {
            let whole = text.len();
            let cut = beginning(text, room.saturating_sub(around)).len();
            text.truncate(cut);
            let marker = format!("[truncated: {} of {whole} bytes of this part are left out]", whole - cut);
            let after = all - kept.len() - 1;
            kept.push(part);
            kept.push(marker_part(match after {
                0 => marker,
                _ => format!("{marker}\n[truncated: {after} of {all} parts are left out]"),
            }));
        } else {
            let gone = all - kept.len();
            kept.push(marker_part(format!("[truncated: {gone} of {all} parts are left out]")));
        }
        break;
    }
    kept
}

fn marker_part(text: String) -> Value {
    json!({"type": "input_text", "text": text})
}

/// Returns the longest beginning that takes at most `room` bytes inside a JSON string; it ends
/// between two characters.
pub fn beginning(text: &str, mut room: usize) -> &str {
    for (place, character) in text.char_indices() {
        let bytes = match character {
            '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
            '\0'..='\u{1f}' => 6,
            character => character.len_utf8(),
        };
        if bytes > room {
            return &text[..place];
        }
        room -= bytes;
    }
    text
}

#[cfg(test)]
mod tests;
