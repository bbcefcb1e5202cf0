//! The OpenAI provider: models behind the Responses API, or behind Chat Completions of any compatible server.
//!
//! [`OpenAi`] holds the credentials and the connection, and stays on the worker. One model call is one HTTP request:
//! nothing here retries, follows redirects or waits, Temporal's retry policy does. What the provider says about
//! retries (status, `retry-after`, `x-should-retry`) comes back in the [`ModelError`].
//!
//! | file | what it holds |
//! |---|---|
//! | `builder` | configuration, and what can be wrong with it |
//! | `endpoint`, `azure` | addresses and credentials of OpenAI-like servers and of Azure |
//! | `tls`, `transport` | one HTTP exchange, whole |
//! | `responses`, `chat_completions` | the two projections of a model call |
//!
//! What an answer stands for, and what settings add to a request, is in `worker/http_provider`.

mod azure;
mod builder;
mod chat_completions;
mod endpoint;
mod responses;
mod tls;
mod transport;
mod usage;

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::Value;

pub use azure::Azure;
pub use builder::{OpenAiBuilder, OpenAiConfigError};

use self::transport::Transport;
use super::{Model, ModelError, ModelProvider};
use crate::wire::{ModelCall, ModelFailureKind, ModelResponse};

/// The models of OpenAI, of Azure OpenAI, or of a compatible server.
///
/// ```no_run
/// use temporal_agents::worker::openai::{OpenAi, OpenAiApi};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let openai = OpenAi::from_env()?;
///
/// let local = OpenAi::builder()
///     .api_key("none")
///     .base_url("http://localhost:8000/v1")
///     .api(OpenAiApi::ChatCompletions)
///     .serving(|model| model.starts_with("qwen"))
///     .build()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct OpenAi {
    transport: Arc<Transport>,
    api: OpenAiApi,
    serves: Serves,
    name: String,
}

/// Which of OpenAI's two APIs a provider speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpenAiApi {
    /// The Responses API: items go and come verbatim, with hosted tools and server-side state.
    #[default]
    Responses,
    /// Chat Completions, which most compatible servers speak; what it cannot express is refused, never dropped.
    ChatCompletions,
}

/// Whether a provider serves a model name.
type Serves = Arc<dyn Fn(&str) -> bool + Send + Sync>;

impl OpenAi {
    /// The provider that the environment describes: `OPENAI_API_KEY`, and where they are set `OPENAI_BASE_URL`,
    /// `OPENAI_ORG_ID` and `OPENAI_PROJECT_ID`.
    ///
    /// # Errors
    /// [`OpenAiConfigError`], above all when `OPENAI_API_KEY` is not set.
    pub fn from_env() -> Result<Self, OpenAiConfigError> {
        OpenAiBuilder::from_env()?.build()
    }

    /// A provider described step by step; reads no environment variable.
    pub fn builder() -> OpenAiBuilder {
        OpenAiBuilder::new()
    }
}

/// The body that goes out for a call.
pub(crate) fn request_body(api: OpenAiApi, call: ModelCall) -> Result<Value, ModelError> {
    let model = call.model.clone();
    match api {
        OpenAiApi::Responses => responses::request_body(&model, call),
        OpenAiApi::ChatCompletions => chat_completions::request_body(&model, call),
    }
}

impl ModelProvider for OpenAi {
    fn model<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Arc<dyn Model>>, ModelError>> {
        let model = (self.serves)(name).then(|| -> Arc<dyn Model> {
            Arc::new(OpenAiModel { name: name.to_owned(), transport: Arc::clone(&self.transport), api: self.api })
        });
        Box::pin(std::future::ready(Ok(model)))
    }

    fn name(&self) -> Option<&str> {
        Some(&self.name)
    }
}

impl std::fmt::Debug for OpenAi {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { transport, api, serves: _, name: _ } = self;
        f.debug_struct("OpenAi").field("transport", transport).field("api", api).finish_non_exhaustive()
    }
}

/// One model of the provider, under the name the provider was asked for.
#[derive(Debug)]
struct OpenAiModel {
    name: String,
    transport: Arc<Transport>,
    api: OpenAiApi,
}

impl Model for OpenAiModel {
    fn call(&self, call: ModelCall) -> BoxFuture<'_, Result<ModelResponse, ModelError>> {
        Box::pin(async move {
            let whose = format!(" (agent {:?}, model {:?})", call.agent, self.name);
            let mut outcome = match self.api {
                OpenAiApi::Responses => responses::call(&self.transport, &self.name, call).await,
                OpenAiApi::ChatCompletions => chat_completions::call(&self.transport, &self.name, call).await,
            };
            if let Err(error) = &mut outcome
                && error.kind == ModelFailureKind::ResponseTooLarge
            {
                error.message.push_str(&whose);
            }
            outcome.map_err(|error| error.at(self.transport.address()))
        })
    }
}
