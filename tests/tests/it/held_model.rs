//! A scripted model that answers only when the test lets it: what a run does meanwhile can be looked at.

use std::sync::Arc;

use futures::future::BoxFuture;
use temporal_agents::{
    Model, ModelProvider,
    provider::ModelError,
    wire::{ModelCall, ModelResponse},
};
use temporal_agents_testing::FakeModel;
use tokio::{sync::Semaphore, time::timeout};

use crate::PATIENCE;

/// A model whose calls wait for [`answer`](Self::answer). Clones are the same model.
#[derive(Clone, Debug)]
pub(crate) struct HeldModel {
    model: FakeModel,
    /// Holds back the calls of this agent alone.
    agent: Option<&'static str>,
    asked: Arc<Semaphore>,
    answers: Arc<Semaphore>,
}

impl HeldModel {
    /// Holds back the answers of this model.
    pub(crate) fn new(model: &FakeModel) -> Self {
        let none = || Arc::new(Semaphore::new(0));
        Self { model: model.clone(), agent: None, asked: none(), answers: none() }
    }

    /// Holds back the answers of this model to one agent; the others get theirs at once.
    pub(crate) fn of_agent(model: &FakeModel, agent: &'static str) -> Self {
        Self { agent: Some(agent), ..Self::new(model) }
    }

    /// Waits for the next call.
    pub(crate) async fn asked(&self) -> anyhow::Result<()> {
        let asked = timeout(PATIENCE, self.asked.acquire()).await;
        asked.map_err(|_| anyhow::anyhow!("the model was not asked within {PATIENCE:?}"))??.forget();
        Ok(())
    }

    /// Lets one call be answered, now or when it comes.
    pub(crate) fn answer(&self) {
        self.answers.add_permits(1);
    }
}

impl Model for HeldModel {
    fn call(&self, call: ModelCall) -> BoxFuture<'_, Result<ModelResponse, ModelError>> {
        Box::pin(async move {
            if self.agent.is_some_and(|held| held != call.agent) {
                return self.model.call(call).await;
            }
            self.asked.add_permits(1);
            self.answers.acquire().await.expect("never closed").forget();
            self.model.call(call).await
        })
    }
}

impl ModelProvider for HeldModel {
    fn model<'a>(&'a self, _name: &'a str) -> BoxFuture<'a, Result<Option<Arc<dyn Model>>, ModelError>> {
        let model: Arc<dyn Model> = Arc::new(self.clone());
        Box::pin(std::future::ready(Ok(Some(model))))
    }
}
