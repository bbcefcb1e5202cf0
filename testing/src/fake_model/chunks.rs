//! A scripted answer in parts, as a provider that streams sends it.

use std::time::Duration;

use serde_json::Value;
use temporal_agents::{
    provider::{ModelDelta, ModelDeltas, ModelError},
    wire::{Item, ModelFailureKind, ModelResponse},
};

use super::native::NativeEvents;

/// The size and the pace of the parts of a streamed answer, and its failure.
#[derive(Clone, Debug)]
pub(super) struct Chunks {
    /// Number of characters in a chunk.
    pub(super) size: usize,
    /// Time between two chunks; `None` for that of the model.
    pub(super) pause: Option<Duration>,
    /// The failure of the first attempt, after this number of chunks.
    pub(super) mishap: Option<(usize, Mishap)>,
}

impl Default for Chunks {
    fn default() -> Self {
        Self { size: 8, pause: None, mishap: None }
    }
}

/// A failure of the first attempt at a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mishap {
    /// The connection breaks.
    Break,
    /// An event is not one of the API.
    Garbage,
}

impl Mishap {
    fn error(self, chunks: usize) -> ModelError {
        let (kind, message) = match self {
            Self::Break => (ModelFailureKind::Connection, "the stream breaks off"),
            Self::Garbage => (ModelFailureKind::InvalidResponse, "the stream has garbage"),
        };
        ModelError::new(kind, format!("scripted: {message} after {chunks} chunks")).retryable(true)
    }
}

impl Chunks {
    /// Sends the answer in chunks, with `default_pause` between them unless they have a pause of
    /// their own. With `fails`, sends those before the failure.
    ///
    /// # Errors
    /// The failure of the first attempt; an answer of fewer chunks fails after its last one.
    pub(super) async fn send(
        &self,
        response: &ModelResponse,
        deltas: &ModelDeltas,
        fails: bool,
        default_pause: Duration,
    ) -> Result<(), ModelError> {
        let mishap = self.mishap.filter(|_| fails);
        let pause = self.pause.unwrap_or(default_pause);
        let mut sent = 0;
        let mut native = NativeEvents::begin(response, deltas);
        for (index, item) in (0..).zip(&response.output) {
            if let Some(native) = &mut native {
                native.item_begins(index, item);
            }
            for delta in item_deltas(index, item, self.size) {
                if let Some((after, mishap)) = mishap.filter(|(after, _)| *after == sent) {
                    return Err(mishap.error(after));
                }
                if sent > 0 {
                    tokio::time::sleep(pause).await;
                }
                if let Some(native) = &mut native {
                    native.delta(item, &delta);
                }
                deltas.send(delta);
                sent += 1;
            }
            if let Some(native) = &mut native {
                native.item_ends(index, item);
            }
        }
        if let Some((_, mishap)) = mishap {
            return Err(mishap.error(sent));
        }
        if let Some(native) = native {
            native.end(response);
        }
        Ok(())
    }
}

/// Returns the deltas of an item; none for kinds other than messages, reasoning and calls.
fn item_deltas(index: u32, item: &Item, size: usize) -> Vec<ModelDelta> {
    let text = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();
    let parts = |name: &str| item.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
    let member = |name: &str| item.get(name).and_then(Value::as_str).map(str::to_owned);
    match item.kind() {
        "message" => {
            let content = parts("content").into_iter().flat_map(|part| {
                let texts = pieces(&text(&part, "text"), size);
                let refusals = pieces(&text(&part, "refusal"), size);
                let texts = texts.into_iter().map(move |delta| ModelDelta::Text { index, delta });
                texts.chain(refusals.into_iter().map(move |delta| ModelDelta::Refusal { index, delta }))
            });
            content.collect()
        }
        "reasoning" => {
            let texts = ["summary", "content"].into_iter().flat_map(parts);
            let pieces = texts.flat_map(|part| pieces(&text(&part, "text"), size));
            pieces.map(|delta| ModelDelta::Reasoning { index, delta }).collect()
        }
        "function_call" => {
            let pieces = pieces(&member("arguments").unwrap_or_default(), size).into_iter();
            let delta =
                |delta| ModelDelta::ToolArguments { index, call_id: member("call_id"), name: member("name"), delta };
            pieces.map(delta).collect()
        }
        _ => Vec::new(),
    }
}

/// Splits a text into pieces of at most `size` characters.
fn pieces(text: &str, size: usize) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(size.max(1)).map(|piece| piece.iter().collect()).collect()
}
