//! The model providers of a worker or an inline runner: asks them in order, and calls the model the first one has.

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures::FutureExt;

use super::model::{Model, ModelError, ModelProvider};
use crate::wire::{ModelCall, ModelFailureKind, ModelResponse};

/// Providers in the order in which they are asked.
#[derive(Clone, Default)]
pub(super) struct Providers(Vec<Arc<dyn ModelProvider>>);

impl Providers {
    pub(super) fn add(&mut self, provider: impl ModelProvider + 'static) {
        self.0.push(Arc::new(provider));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Makes a call, once. A panic of a provider is a failure like any other.
    pub(super) async fn call(&self, call: ModelCall) -> Result<ModelResponse, ModelError> {
        let answer = AssertUnwindSafe(async { self.model(&call.model).await?.call(call).await }).catch_unwind();
        answer.await.unwrap_or_else(|panic| {
            let message = panic
                .downcast_ref::<&str>()
                .map(|text| (*text).to_owned())
                .or_else(|| panic.downcast_ref::<String>().cloned())
                .unwrap_or_else(|| "a value that is no text".to_owned());
            Err(ModelError::new(ModelFailureKind::Internal, format!("the model provider panicked: {message}")))
        })
    }

    async fn model(&self, name: &str) -> Result<Arc<dyn Model>, ModelError> {
        for provider in &self.0 {
            if let Some(model) = provider.model(name).await? {
                return Ok(model);
            }
        }
        let message = format!(
            "no model provider of this worker serves {name:?}; add one with AgentsPlugin::model_provider, \
             or correct the model's name"
        );
        Err(ModelError::new(ModelFailureKind::UnknownModel, message))
    }
}
