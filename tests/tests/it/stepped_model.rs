//! A model that sends each part of its answers when the test lets it.

use std::sync::Arc;

use futures::future::BoxFuture;
use temporal_agents::{
    Model, ModelProvider,
    provider::{ModelDelta, ModelDeltas, ModelError},
    wire::{ModelCall, ModelResponse},
};
use temporal_agents_testing::FakeModel;
use tokio::sync::Semaphore;

/// A model that makes the answers of another one, and sends the words of a text before. Clones are
/// the same model.
#[derive(Clone, Debug)]
pub(crate) struct SteppedModel {
    model: FakeModel,
    text: &'static str,
    words: Arc<Semaphore>,
}

impl SteppedModel {
    /// Creates a model that sends no word yet.
    pub(crate) fn new(model: FakeModel, text: &'static str) -> Self {
        Self { model, text, words: Arc::new(Semaphore::new(0)) }
    }

    /// Lets this number of words be sent. An answer follows its last word.
    pub(crate) fn send(&self, words: usize) {
        self.words.add_permits(words);
    }
}

impl Model for SteppedModel {
    fn call(&self, call: ModelCall) -> BoxFuture<'_, Result<ModelResponse, ModelError>> {
        self.model.call(call)
    }

    fn stream(&self, call: ModelCall, deltas: ModelDeltas) -> BoxFuture<'_, Result<ModelResponse, ModelError>> {
        Box::pin(async move {
            for word in self.text.split_inclusive(' ') {
                self.words.acquire().await.expect("never closed").forget();
                deltas.send(ModelDelta::Text { index: 0, delta: word.to_owned() });
            }
            self.model.call(call).await
        })
    }
}

impl ModelProvider for SteppedModel {
    fn model<'a>(&'a self, _name: &'a str) -> BoxFuture<'a, Result<Option<Arc<dyn Model>>, ModelError>> {
        let model: Arc<dyn Model> = Arc::new(self.clone());
        Box::pin(std::future::ready(Ok(Some(model))))
    }
}
