//! What becomes of an output that is larger than history takes, or than the author wants a model to read.

use serde_json::{Value, json};

use crate::wire::{
    ToolOutput,
    size::{Bytes, MOST_BYTES, encoded_len},
};

/// What becomes of an output over the tool's limit ([`ToolDef::max_output_bytes`](super::ToolDef::max_output_bytes)).
///
/// It is measured as JSON, before any codec of the data converter, where the body runs: on the worker before it returns the output, in the workflow
/// for inline tools and agents. Without it the server refuses a payload over 2 MiB, and the activity runs again and again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OversizedOutput {
    /// The call has failed, of kind [`Oversized`](super::ToolFailureKind::Oversized): the model is told how large the output was, or what
    /// [`OnToolError`](super::OnToolError) says.
    #[default]
    ToModel,
    /// The model gets as much of its beginning as fits, and a marker that says how much is gone.
    Truncate,
    /// The worker's `SpillStore` keeps it; the model gets the reference that the store gives, and a preview.
    ///
    /// Not for inline tools and agents: they run in the workflow, which can write nowhere.
    Spill,
}

/// The limit of a tool's outputs, and what happens above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OutputLimit {
    pub(crate) bytes: usize,
    pub(crate) above: OversizedOutput,
}

impl Default for OutputLimit {
    fn default() -> Self {
        Self { bytes: MOST_BYTES, above: OversizedOutput::default() }
    }
}

/// An output is over the limit of its tool.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("tool {tool:?} returned {}, the limit is {}", Bytes(*bytes), Bytes(*limit))]
pub(crate) struct OutputTooLarge {
    pub(crate) tool: String,
    pub(crate) bytes: usize,
    pub(crate) limit: usize,
}

impl OutputLimit {
    /// Measures an output; `None` when it fits.
    pub(crate) fn exceeded_by(self, tool: &str, output: &ToolOutput) -> Option<OutputTooLarge> {
        // What cannot be written as JSON cannot be sent at all, and says so there.
        let bytes = encoded_len(output).unwrap_or_default();
        (bytes > self.bytes).then(|| OutputTooLarge { tool: tool.to_owned(), bytes, limit: self.bytes })
    }

    /// The output, as far as it can be had without a store: whole, or cut.
    ///
    /// # Errors
    /// [`OutputTooLarge`] when it is neither.
    pub(crate) fn fit(self, tool: &str, output: ToolOutput) -> Result<ToolOutput, OutputTooLarge> {
        match (self.exceeded_by(tool, &output), self.above) {
            (None, _) => Ok(output),
            (Some(_), OversizedOutput::Truncate) => Ok(truncated(output, self.bytes)),
            (Some(too_large), _) => Err(too_large),
        }
    }
}

/// Most bytes of what is said of a failure: from an activity it travels twice, as the failure's message and for the model.
pub(crate) const MOST_OF_A_FAILURE: usize = 100_000;

/// The most that a marker takes, quotes of JSON included.
const MARKER: usize = 200;

/// As much of the beginning as fits into so many bytes of JSON, and a marker.
pub(crate) fn truncated(output: ToolOutput, limit: usize) -> ToolOutput {
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

/// Whole parts while they fit; the text of the first that does not is cut.
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

/// The longest beginning that takes at most so many bytes inside of a JSON string; it ends between two characters.
pub(crate) fn beginning(text: &str, mut room: usize) -> &str {
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
