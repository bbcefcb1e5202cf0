//! The model providers of a worker or an inline runner: queries them in order, and calls the model
//! of the first one that serves it.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures::FutureExt;
use temporal_agents_core::{
    drive::model_limits::exceeded,
    wire::{ModelCall, ModelFailureKind, ModelResponse},
};
use tokio::time::timeout;

use super::{
    deltas::ModelDeltas,
    held_back::held_back,
    model::{Model, ModelError, ModelProvider},
    prices::PriceTable,
};
use crate::secret::worker_env::AllowedEnv;

/// The providers in the order in which they are queried, the environment variables that calls may
/// refer to, and the prices of models.
#[derive(Clone, Default)]
pub(crate) struct Providers {
    in_order: Vec<Arc<dyn ModelProvider>>,
    pub(crate) env: AllowedEnv,
    pub(crate) prices: Option<Arc<PriceTable>>,
}

/// The time limit of one attempt at a model call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AttemptLimit {
    pub(crate) time: Duration,
    /// The limit in the error message: the value of the setting, of which a part may be over.
    pub(crate) stated: Duration,
    /// The setting that changes the limit, for the error message.
    pub(crate) setting: &'static str,
}

impl Providers {
    pub(crate) fn add(&mut self, provider: impl ModelProvider + 'static) {
        self.in_order.push(Arc::new(provider));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.in_order.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.in_order.len()
    }

    /// Makes a model call, once, and aborts it when it takes longer than `limit`. A panic of a
    /// provider is a failure like any other.
    pub(crate) async fn call_with_limit(
        &self,
        limit: AttemptLimit,
        call: ModelCall,
        deltas: Option<ModelDeltas>,
    ) -> Result<ModelResponse, ModelError> {
        let (agent, model) = (call.agent.clone(), call.model.clone());
        match timeout(limit.time, self.call(call, deltas)).await {
            Ok(settled) => settled,
            Err(elapsed) => {
                let message = exceeded(&agent, &model, limit.stated, limit.setting);
                Err(ModelError::new(ModelFailureKind::Timeout, message).caused_by(elapsed))
            }
        }
    }

    /// Makes a model call, once, without a time limit. With a receiver of deltas, the model streams.
    pub(crate) async fn call(
        &self,
        mut call: ModelCall,
        deltas: Option<ModelDeltas>,
    ) -> Result<ModelResponse, ModelError> {
        let (provider, model) = caught(self.model(&call.model)).await?;
        let given = self.env.fill(&mut call, provider.name())?;
        let name = call.model.clone();
        // Boxed, because the future is large, and that of the activity around it is larger.
        let (deltas, _end) = deltas.map(|deltas| held_back(deltas, given.clone()).until_dropped()).unzip();
        let calling = async {
            match deltas {
                Some(deltas) => model.stream(call, deltas).await,
                None => model.call(call).await,
            }
        };
        match Box::pin(caught(calling)).await {
            Ok(mut response) => {
                if let Some(prices) = &self.prices {
                    prices.add_cost(provider.name().unwrap_or_default(), &name, &mut response.usage);
                }
                Ok(given.clean_response(response))
            }
            Err(error) => Err(given.clean_error(error)),
        }
    }

    /// Returns `false` if all providers say that they do not serve the model.
    pub(crate) async fn may_serve(&self, model: &str) -> bool {
        match caught(self.model(model)).await {
            Ok(_) => true,
            Err(error) => error.kind != ModelFailureKind::UnknownModel,
        }
    }

    async fn model(&self, name: &str) -> Result<(&dyn ModelProvider, Arc<dyn Model>), ModelError> {
        for provider in &self.in_order {
            if let Some(model) = provider.model(name).await? {
                return Ok((&**provider, model));
            }
        }
        let message = format!(
            "no model provider of this worker serves {name:?}; add one with Resources::model_provider, or correct \
             the model's name"
        );
        Err(ModelError::new(ModelFailureKind::UnknownModel, message))
    }
}

/// Runs a provider's code, and converts its panic to a failure.
async fn caught<T>(code: impl Future<Output = Result<T, ModelError>>) -> Result<T, ModelError> {
    AssertUnwindSafe(code).catch_unwind().await.unwrap_or_else(|panic| {
        let message = panic
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "a value that is not a string".to_owned());
        Err(ModelError::new(ModelFailureKind::Internal, format!("the model provider panicked: {message}")))
    })
}

#[cfg(test)]
mod tests;
