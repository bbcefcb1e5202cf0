//! The model that streams: each chunk of its answer is the time at which the chunk is sent, so that
//! a reader on the same machine knows how long it took.

use std::{sync::Arc, time::Duration};

use futures::future::{BoxFuture, ready};
use serde_json::json;
use temporal_agents::{
    Model, ModelProvider,
    provider::{ModelDelta, ModelDeltas, ModelError},
    wire::{Item, ModelCall, ModelFailureKind, ModelResponse, Usage},
};
use tokio::time::sleep;

use super::{script, stream::Streamed};

/// Name of the model.
pub const STREAMED: &str = "scripted-stream";

/// The provider of the model, with a clock that returns nanoseconds.
///
/// The model makes the same answer without deltas, in the same time.
#[derive(Clone, Copy, Debug)]
pub struct StreamingModel(pub fn() -> u64);

impl ModelProvider for StreamingModel {
    fn model<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Arc<dyn Model>>, ModelError>> {
        let model = (name == STREAMED).then(|| Arc::new(*self) as Arc<dyn Model>);
        Box::pin(ready(Ok(model)))
    }
}

impl Model for StreamingModel {
    fn call(&self, call: ModelCall) -> BoxFuture<'_, Result<ModelResponse, ModelError>> {
        Box::pin(async move { self.answer(work(&call)?, |_| ()).await })
    }

    fn stream(&self, call: ModelCall, deltas: ModelDeltas) -> BoxFuture<'_, Result<ModelResponse, ModelError>> {
        let send = move |chunk: &str| deltas.send(ModelDelta::Text { index: 0, delta: chunk.to_owned() });
        Box::pin(async move { self.answer(work(&call)?, send).await })
    }
}

impl StreamingModel {
    /// Sends the chunks, and returns the answer.
    ///
    /// # Errors
    /// If the answer is not a message of this version.
    pub async fn answer(&self, work: Streamed, send: impl Fn(&str)) -> Result<ModelResponse, ModelError> {
        let mut text = String::new();
        for number in 0..work.chunks {
            sleep(Duration::from_millis(if number == 0 { work.first_pause_ms } else { work.pause_ms })).await;
            let chunk = chunk((self.0)());
            send(&chunk);
            text.push_str(&chunk);
        }
        let item = Item::try_from(json!({
            "type": "message", "id": "msg_0000", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": text, "annotations": []}],
        }));
        let item = item.map_err(|error| wrong(error.to_string()))?;
        let mut response = ModelResponse::new(vec![item], Usage::of_tokens(100, 20));
        response.response_id = Some(script::response_id(0));
        Ok(response)
    }
}

/// Returns the chunk that is sent at this time. All chunks have the same size.
fn chunk(nanos: u64) -> String {
    format!("{nanos:016x} ")
}

/// Returns the times at which the chunks of a text were sent.
///
/// # Errors
/// If the text does not consist of whole chunks.
pub fn sent_times(text: &str) -> anyhow::Result<Vec<u64>> {
    text.split_terminator(' ').map(|chunk| Ok(u64::from_str_radix(chunk, 16)?)).collect()
}

fn work(call: &ModelCall) -> Result<Streamed, ModelError> {
    let said = call.input.first().and_then(Item::text).ok_or_else(|| wrong("there is no user message".to_owned()))?;
    serde_json::from_str(&said).map_err(|error| wrong(format!("{said:?} is no work of a stream: {error}")))
}

fn wrong(what: String) -> ModelError {
    ModelError::new(ModelFailureKind::Internal, what)
}
