//! The OpenAI provider: models behind the Responses API, or behind Chat Completions of any
//! compatible server.
//!
//! [`OpenAi`] holds the credentials and the connection, and stays on the worker. One model call is
//! one HTTP request: this provider does not retry, follow redirects or wait, because Temporal's
//! retry policy does. What the model provider states about retries (status, `retry-after`,
//! `x-should-retry`) is returned in the [`ModelError`].
//!
//! | file | contents |
//! |---|---|
//! | `builder` | configuration, and its errors |
//! | `endpoint`, `azure` | the paths of the APIs, and the names of deployments |
//! | `responses`, `chat_completions` | the two projections of a model call |
//!
//! The HTTP exchange, streams, the interpretation of a response, and the parts that settings add to
//! a request are in `provider/http`.

mod azure;
mod builder;
mod chat_completions;
mod endpoint;
mod responses;
mod usage;

use std::sync::Arc;

pub use azure::Azure;
pub use builder::{OpenAiBuilder, OpenAiConfigError};
use futures::future::BoxFuture;
use serde_json::{Value, json};
use temporal_agents_core::wire::{ModelCall, ModelFailureKind, ModelResponse};

use self::endpoint::Endpoint;
use super::{
    Model, ModelDeltas, ModelError, ModelProvider,
    api_rules::{self, ApiRules, ChangeLog, RequestTarget},
    call_ids::CallIds,
    data::{PROVIDER_DATA, RESPONSES},
    http::{refusals::Refusals, silence::SilenceOptions, streaming::Streamed},
};

/// The models of OpenAI, of Azure OpenAI, or of a compatible server.
///
/// ```no_run
/// use temporal_agents::provider::{OpenAi, OpenAiApi};
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
///
/// # Streams
/// A streamed call ([`Model::stream`]) returns the response that the same answer becomes without
/// streaming. In the Responses API that is the response in the last event; the chunks of Chat
/// Completions are joined, with the usage, which is requested. A server that ignores the stream is
/// read whole. If one refuses it by name (400 or 422), the call is repeated without
/// `stream_options`, or without a stream; the provider remembers and logs it. Calls that are made
/// without streaming, logged once for each model: those whose extra arguments request several
/// choices, audio, a background response or no stream, and those to a server whose streams have no
/// usage.
///
/// Of a stream at most 256 MiB are read, and 32 MiB kept.
#[derive(Clone)]
pub struct OpenAi {
    endpoint: Arc<Endpoint>,
    api: OpenAiApi,
    silence: SilenceOptions,
    refusals: Arc<Refusals>,
    preparation: Arc<Preparation>,
    serves: Serves,
    name: String,
}

/// How requests are prepared for the server.
#[derive(Debug)]
struct Preparation {
    rules: &'static ApiRules,
    log: ChangeLog,
    /// Name of the provider, which marks the reasoning that it makes.
    maker: String,
    /// `true` if the provider has its default name. Its reasoning has no mark.
    is_default: bool,
    keeps_empty_reasoning: bool,
}

impl Preparation {
    /// Returns a call of this model in a form that the server accepts.
    fn prepare(&self, model: &str, call: ModelCall) -> ModelCall {
        let target = RequestTarget {
            model,
            provider: &self.maker,
            is_default_provider: self.is_default,
            keeps_empty_reasoning: self.keeps_empty_reasoning,
        };
        api_rules::prepare(self.rules, &target, call, &self.log)
    }

    /// Marks the reasoning of a response with the provider that made it.
    fn mark(&self, mut response: ModelResponse) -> ModelResponse {
        if !self.is_default {
            for item in &mut response.output {
                if item.kind() == "reasoning" && item.get(PROVIDER_DATA).is_none() {
                    *item = item.with(PROVIDER_DATA, json!({RESPONSES: {"provider": self.maker}}));
                }
            }
        }
        response
    }
}

/// The API of OpenAI that a provider uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpenAiApi {
    /// The Responses API: items are received verbatim and sent as the API accepts them, with hosted
    /// tools and server-side state.
    #[default]
    Responses,
    /// Chat Completions, which most compatible servers support. Settings that it does not have are
    /// refused; calls that another provider executed are left out.
    ChatCompletions,
}

/// A predicate that returns `true` for the model names that a provider serves.
type Serves = Arc<dyn Fn(&str) -> bool + Send + Sync>;

impl OpenAi {
    /// Creates the provider that the environment describes: `OPENAI_API_KEY`, and, if they are set,
    /// `OPENAI_BASE_URL`, `OPENAI_ORG_ID` and `OPENAI_PROJECT_ID`.
    ///
    /// # Errors
    /// [`OpenAiConfigError`], in particular if `OPENAI_API_KEY` is not set.
    pub fn from_env() -> Result<Self, OpenAiConfigError> {
        OpenAiBuilder::from_env()?.build()
    }

    /// Creates a builder, which reads no environment variable.
    pub fn builder() -> OpenAiBuilder {
        OpenAiBuilder::new()
    }
}

/// Returns the body of the request for a call.
pub(crate) fn request_body(api: OpenAiApi, call: ModelCall) -> Result<Value, ModelError> {
    let model = call.model.clone();
    let target =
        RequestTarget { model: &model, provider: "openai", is_default_provider: true, keeps_empty_reasoning: false };
    let rules = match api {
        OpenAiApi::Responses => &api_rules::RESPONSES,
        OpenAiApi::ChatCompletions => &api_rules::CHAT_COMPLETIONS,
    };
    let call = api_rules::prepare(rules, &target, call, &ChangeLog::default());
    match api {
        OpenAiApi::Responses => responses::request_body(&model, call),
        OpenAiApi::ChatCompletions => chat_completions::request_body(&model, call),
    }
}

impl ModelProvider for OpenAi {
    fn model<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Arc<dyn Model>>, ModelError>> {
        let model = (self.serves)(name).then(|| -> Arc<dyn Model> {
            Arc::new(OpenAiModel {
                name: name.to_owned(),
                endpoint: Arc::clone(&self.endpoint),
                api: self.api,
                silence: self.silence,
                refusals: Arc::clone(&self.refusals),
                preparation: Arc::clone(&self.preparation),
            })
        });
        Box::pin(std::future::ready(Ok(model)))
    }

    fn name(&self) -> Option<&str> {
        Some(&self.name)
    }
}

impl std::fmt::Debug for OpenAi {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { endpoint, api, silence: _, refusals: _, preparation: _, serves: _, name: _ } = self;
        f.debug_struct("OpenAi").field("endpoint", endpoint).field("api", api).finish_non_exhaustive()
    }
}

/// One model of the provider, under the name that was requested of the provider.
#[derive(Debug)]
struct OpenAiModel {
    name: String,
    endpoint: Arc<Endpoint>,
    api: OpenAiApi,
    silence: SilenceOptions,
    refusals: Arc<Refusals>,
    preparation: Arc<Preparation>,
}

impl Model for OpenAiModel {
    fn call(&self, call: ModelCall) -> BoxFuture<'_, Result<ModelResponse, ModelError>> {
        Box::pin(async move {
            let agent = call.agent.clone();
            let ids = CallIds::in_conversation(&call);
            let call = self.preparation.prepare(&self.name, call);
            let outcome = match self.api {
                OpenAiApi::Responses => responses::call(&self.endpoint, &self.name, call).await,
                OpenAiApi::ChatCompletions => chat_completions::call(&self.endpoint, &self.name, call).await,
            };
            let outcome = outcome.map(|response| self.preparation.mark(ids.rename(response)));
            outcome.map_err(|error| self.located(error, &agent))
        })
    }

    fn stream(&self, call: ModelCall, deltas: ModelDeltas) -> BoxFuture<'_, Result<ModelResponse, ModelError>> {
        Box::pin(async move {
            let agent = call.agent.clone();
            let silence = self.silence.of_call(&call.definitions.settings);
            let ids = CallIds::in_conversation(&call);
            let deltas = ids.rename_deltas(deltas);
            let call = self.preparation.prepare(&self.name, call);
            let streamed = Streamed {
                transport: &self.endpoint.transport,
                path: &self.endpoint.path(self.api, &self.name),
                refusals: &self.refusals,
                silence,
                model: &self.name,
            };
            let outcome = match self.api {
                OpenAiApi::Responses => responses::stream(&self.endpoint, &streamed, call, &deltas).await,
                OpenAiApi::ChatCompletions => chat_completions::stream(&self.endpoint, &streamed, call, &deltas).await,
            };
            let outcome = outcome.map(|response| self.preparation.mark(ids.rename(response)));
            outcome.map_err(|error| self.located(error, &agent))
        })
    }
}

impl OpenAiModel {
    /// Returns the failure with the address of the server, and with the call if it is too large.
    fn located(&self, mut error: ModelError, agent: &str) -> ModelError {
        if error.kind == ModelFailureKind::ResponseTooLarge {
            let whose = format!(" (agent {agent:?}, model {:?})", self.name);
            error.message.push_str(&whose);
        }
        error.at(self.endpoint.transport.address())
    }
}
