//! A provider over the crate `genai`: models of Google and many others, and of Anthropic without the
//! crate.
//!
//! [`Genai`] holds the crate's client and stays on the worker. One model call is one HTTP request:
//! neither the crate nor this provider retries; what the model provider states about retries is
//! returned in the [`ModelError`]. The projection is thin and total: anything that an adapter of
//! the crate would drop silently is refused by name before anything is sent. What an API does not
//! accept in a conversation is left out before (`provider/api_rules`).
//!
//! The crate resolves every name to an address and a key. Calls of the adapters `anthropic` and
//! `minimax` are then made by `provider/anthropic`. What is left here of Anthropic's API is for
//! `claude` models of `vertex`: the form of failed results and images, and thinking in a message of
//! its own; events of streams and whole answers are read by `provider/anthropic`.
//!
//! | file | contents |
//! |---|---|
//! | `builder` | configuration, and its errors |
//! | `dialect` | the features that each adapter supports, and the model names that are served |
//! | `request`, `settings`, `messages`, `content`, `results` | model call to the crate's request |
//! | `response`, `failure` | the crate's response to ours, or to its failure |
//! | `streamed` | a call whose answer arrives in parts |
//! | `thoughts` | reasoning of a model, in both directions |
//!
//! # Design
//! **The crate genai,** because block orders, signatures and schema dialects of forty providers
//! change monthly. Its normal form is narrow, so the provider over it is thin. Not possible
//! through it: hosted tools, state at the provider, log probabilities, the request id of a success
//! (it drops the headers), and arguments that are not JSON (it fails the response, which is then
//! requested again). For Anthropic's API that was too little, see `provider/anthropic`. The crate
//! enables `serde_json/preserve_order`, which is enabled anyway, and features of reqwest (`gzip`)
//! and tokio (`test-util`) for the whole build. It retries nothing.

mod builder;
mod content;
mod dialect;
mod failure;
mod messages;
mod request;
mod response;
mod results;
mod settings;
mod streamed;
mod thoughts;

use std::sync::Arc;

use ::genai::{
    Client, Error, ServiceTarget,
    chat::{ChatOptions, ChatRequest},
};
use futures::future::BoxFuture;
use serde_json::Value;

pub use builder::{GenaiBuilder, GenaiConfigError};

use self::{
    dialect::{Dialect, Route, Shape},
    response::ResponseContent,
    streamed::{Outcome, StreamedCall, completion},
};
use super::{
    Model, ModelDeltas, ModelError, ModelProvider,
    anthropic::{self, MessagesModel, MessagesServer, messages_headers},
    api_rules::{self, ChangeLog, RequestTarget},
    call_ids::CallIds,
    http::{
        address,
        answer::Answer,
        body::MOST_BYTES,
        classify,
        redact::Redactor,
        refusals::{Refusals, RequestForm},
        silence::{Silence, SilenceOptions},
        transport::Transport,
    },
};
use temporal_agents_core::wire::{ModelCall, ModelFailureKind, ModelResponse};

/// The models of Anthropic, Google and others, by the names and keys of the crate
/// [`genai`](https://docs.rs/genai/0.7.2).
///
/// [`Anthropic`](super::Anthropic) makes the calls of Anthropic's API. It is also a provider of
/// its own; all others are made through the crate.
///
/// ```no_run
/// use temporal_agents::{Resources, provider::{Genai, OpenAi}};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // Keys from the worker's environment: ANTHROPIC_API_KEY, GEMINI_API_KEY, ..
/// let resources =
///     Resources::new().model_provider(Genai::from_env()?).model_provider(OpenAi::from_env()?);
///
/// // Or with a key and an address of your own.
/// let gateway = Genai::builder()
///     .api_key("anthropic", "the gateway's key")
///     .base_url("anthropic", "https://gateway.example.com/v1")
///     .serving(|model| model.starts_with("claude"))
///     .build()?;
/// # Ok(())
/// # }
/// ```
///
/// # Names
///
/// A model's name identifies its adapter: `claude-sonnet-4-6`, `gemini-3-flash`, `grok-4`, or with
/// the namespace of an adapter of the crate `anthropic::claude-sonnet-4-6`, `groq::llama-4`,
/// `ollama::qwen3`. This provider serves names with a namespace, and names that begin like the
/// models of one adapter. `gpt-5`, `o3` and all names that the crate does not know are left to the
/// worker's next provider; `openai::gpt-5` is not. [`OpenAi`](super::OpenAi) serves every name
/// unless it is configured otherwise, so add it after this one, as above. [`GenaiBuilder::serving`]
/// replaces these rules.
///
/// A name may end in an effort (`claude-opus-4-6-high`): it is removed and set as the reasoning
/// effort, unless the settings have one.
///
/// # What is mapped
/// Anthropic are the adapters `anthropic` and `minimax`, Google `gemini` and `vertex`, Chat
/// Completions most others.
///
/// | of a call | Anthropic | Google | Chat Completions |
/// |---|---|---|---|
/// | instructions, `system` and `developer` messages | `system` | `systemInstruction` | messages |
/// | functions, handoffs | `strict` if the schema is | not `strict` | `strict` if the schema is |
/// | output type | `output_config.format` | `responseJsonSchema` | `response_format` |
/// | results of one round | one message, `is_error` for failures | one message | one message each |
/// | images | `data:` URLs and addresses | `data:` URLs | `data:` URLs and addresses |
/// | thinking | sent back unchanged, in its place | signatures sent back | sent back beside calls |
/// | `temperature`, `top_p`, `max_tokens`, `tool_choice` | yes | yes | yes |
/// | `reasoning`: `effort` | yes | yes | yes |
/// | `reasoning`: `budget_tokens`, `summary` | yes | yes | refused |
/// | `parallel_tool_calls` | yes | only `true` | yes |
/// | `prompt_cache_retention` | of instructions and tools | refused | unchanged |
/// | `metadata` | unchanged | refused | unchanged |
/// | `verbosity`, `store`, `prompt_cache_options` | refused | refused | unchanged |
/// | `frequency_penalty`, `presence_penalty` | refused | refused | unchanged |
/// | `extra_body`, `extra_args`, `extra_headers` | yes | yes | yes |
/// | `extra_query` | yes | refused | refused |
///
/// `prompt_cache_retention` of Anthropic is `in_memory`, `5m` or `1h`.
///
/// `claude` models of `vertex`, and all of `bedrock_api`, `ollama` and `ollama_cloud`, support no
/// output type, no tool choice and no extra body through the crate. Refused everywhere: hosted
/// tools, prompt templates, state at the provider, `truncation`, `response_include`,
/// `top_logprobs` and `context_management`. Left out: calls that another provider executed, and items
/// of unknown kinds. The adapters `openai_resp`, `gemini_ix`, `baidu`, `cohere` and `opencode_go` are
/// refused as a whole.
///
/// Without `max_tokens`, Anthropic's API receives the maximum that the model may write. Left out
/// without an error, because they change no response: `name` of messages, `detail` of images,
/// annotations.
///
/// # Answers
///
/// A response that reached its limit has [`incomplete`](ModelResponse::incomplete)
/// `max_output_tokens`. A filter is `content_filter`; if it left nothing, and if the model itself
/// refuses, the message is a refusal, which ends the run as one. The [guide](crate::guide::providers)
/// lists the other reasons, and what a run does then. The crate drops the headers of successes, so
/// [`request_id`](ModelResponse::request_id) is known for failures and of Anthropic only.
///
/// # Streams
/// Calls of Anthropic and Chat Completions are streamed on request ([`Model::stream`]), with the
/// same response as without streaming. The streams of the other APIs cannot promise that: their
/// calls are made without streaming, which is logged once for each model. If a server refuses a
/// stream, the call is repeated without streaming, and the provider remembers it; the crate needs
/// that also for a server that answers with a whole response.
///
/// At most 256 MiB of events are read, and 32 MiB kept. The crate reads whole answers, and single
/// events, without a limit; an answer over 32 MiB is then refused.
#[derive(Clone)]
pub struct Genai {
    shared: Shared,
    serves: Serves,
    name: String,
}

/// The parts of a provider that its models share.
#[derive(Clone)]
struct Shared {
    client: Client,
    /// The client that the crate uses, for the calls that are made without the crate.
    http: reqwest::Client,
    silence: SilenceOptions,
    refusals: Arc<Refusals>,
    changes: Arc<ChangeLog>,
}

/// A predicate that returns `true` for the model names that a provider serves.
type Serves = Arc<dyn Fn(&str) -> bool + Send + Sync>;

impl Genai {
    /// Creates the provider whose keys are in the worker's environment, under the names that the
    /// crate uses: `ANTHROPIC_API_KEY`, `GEMINI_API_KEY`, `XAI_API_KEY`. A key is read when a model
    /// that needs it is called.
    ///
    /// # Errors
    /// [`GenaiConfigError`], if the platform's certificates cannot be loaded.
    pub fn from_env() -> Result<Self, GenaiConfigError> {
        Self::builder().build()
    }

    /// Creates a builder. Everything that is not configured is as in [`Genai::from_env`].
    pub fn builder() -> GenaiBuilder {
        GenaiBuilder::new()
    }
}

impl ModelProvider for Genai {
    fn model<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Arc<dyn Model>>, ModelError>> {
        let model = (self.serves)(name)
            .then(|| -> Arc<dyn Model> { Arc::new(GenaiModel { name: name.to_owned(), shared: self.shared.clone() }) });
        Box::pin(std::future::ready(Ok(model)))
    }

    fn name(&self) -> Option<&str> {
        Some(&self.name)
    }
}

impl std::fmt::Debug for Genai {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Genai").finish_non_exhaustive()
    }
}

/// One model, under the name that was requested of the provider.
struct GenaiModel {
    name: String,
    shared: Shared,
}

impl Model for GenaiModel {
    fn call(&self, call: ModelCall) -> BoxFuture<'_, Result<ModelResponse, ModelError>> {
        Box::pin(self.ask(call, None))
    }

    fn stream(&self, call: ModelCall, deltas: ModelDeltas) -> BoxFuture<'_, Result<ModelResponse, ModelError>> {
        Box::pin(self.ask(call, Some(deltas)))
    }
}

/// A call, as the crate makes it.
struct Prepared {
    target: ServiceTarget,
    dialect: Dialect,
    request: ChatRequest,
    options: ChatOptions,
    keep_raw_usage: bool,
    redactor: Arc<Redactor>,
    address: String,
}

impl GenaiModel {
    /// Makes a call, and streams it if there is a receiver of deltas.
    async fn ask(&self, call: ModelCall, deltas: Option<ModelDeltas>) -> Result<ModelResponse, ModelError> {
        let whose = format!(" (agent {:?}, model {:?})", call.agent, self.name);
        let routed = async {
            let target = self.target().await?;
            Ok((Route::of(&target.model)?, target))
        };
        let outcome = match routed.await {
            Err(error) => Err(error),
            Ok((Route::Messages(adapter), target)) => {
                return self.messages_model(adapter, &target)?.ask(call, deltas).await;
            }
            Ok((Route::Crate(dialect), target)) => self.through_the_crate(dialect, target, call, deltas).await,
        };
        outcome.map_err(|mut error| {
            if matches!(error.kind, ModelFailureKind::Unsupported | ModelFailureKind::ResponseTooLarge) {
                error.message.push_str(&whose);
            }
            error
        })
    }

    /// Returns where the crate sends the calls of the model, and with which key.
    async fn target(&self) -> Result<ServiceTarget, ModelError> {
        let nothing = Arc::new(Redactor::new(Vec::new()));
        let target = self.shared.client.resolve_service_target(&*self.name).await;
        target.map_err(|error| failure::of(error, "an unknown address", &nothing))
    }

    /// Returns the model of a server that speaks Anthropic's Messages.
    fn messages_model(&self, adapter: String, target: &ServiceTarget) -> Result<MessagesModel, ModelError> {
        let base = target.endpoint.base_url();
        let key = target.auth.single_key_value().map_err(|resolver_error| {
            let error = Error::Resolver { model_iden: target.model.clone(), resolver_error };
            failure::of(error, base, &Arc::new(Redactor::new(Vec::new())))
        })?;
        let redactor = Redactor::new(vec![key.as_str().into()]);
        let headers = messages_headers(&key).map_err(|_| {
            let what = format!("the key of `{adapter}` contains characters that are invalid in HTTP");
            classify::failure(ModelFailureKind::Authentication, &what)
        })?;
        let Shared { client: _, http, silence, refusals, changes } = self.shared.clone();
        let transport = Transport::new(http, base, headers, redactor);
        let (_, model) = target.model.model_name.namespace_and_name();
        Ok(MessagesModel {
            name: self.name.clone(),
            model: model.to_owned(),
            server: Arc::new(MessagesServer { transport, adapter, silence, refusals, changes }),
        })
    }

    async fn through_the_crate(
        &self,
        dialect: Dialect,
        target: ServiceTarget,
        call: ModelCall,
        deltas: Option<ModelDeltas>,
    ) -> Result<ModelResponse, ModelError> {
        let silence = self.shared.silence.of_call(&call.definitions.settings);
        let ids = CallIds::in_conversation(&call);
        let prepared = self.prepared(dialect, target, call)?;
        let asked = match deltas {
            None => self.whole(&prepared).await,
            Some(deltas) => self.streamed(&prepared, silence, &ids.rename_deltas(deltas)).await,
        };
        asked.map(|response| ids.rename(response)).map_err(|error| error.at(prepared.address))
    }

    fn prepared(&self, dialect: Dialect, target: ServiceTarget, call: ModelCall) -> Result<Prepared, ModelError> {
        let redactor = Arc::new(Redactor::new(secrets(&target)));
        let address = address::shown(target.endpoint.base_url(), &redactor);
        let keep_raw_usage = call.definitions.settings.preserve_raw_usage == Some(true);
        let target_of_request = RequestTarget {
            model: &self.name,
            provider: &dialect.adapter,
            is_default_provider: false,
            keeps_empty_reasoning: true,
        };
        let call = api_rules::prepare(dialect.rules(), &target_of_request, call, &self.shared.changes);
        let (request, options) = request::project(&dialect, call).map_err(|error| error.at(address.clone()))?;
        Ok(Prepared { target, dialect, request, options, keep_raw_usage, redactor, address })
    }

    async fn whole(&self, call: &Prepared) -> Result<ModelResponse, ModelError> {
        let Prepared { target, dialect, request, options, keep_raw_usage, redactor, address } = call;
        let outcome = self.shared.client.exec_chat(target.clone(), request.clone(), Some(options)).await;
        let (body, content) = match outcome {
            Ok(mut response) => {
                let body = response.captured_raw_body.take().unwrap_or_default();
                (body, (dialect.shape != Shape::OpenAi).then(|| ResponseContent::from(response)))
            }
            // The crate refuses a call with arguments that are empty or not JSON.
            Err(Error::ChatResponseGeneration { response_body, .. }) if dialect.shape == Shape::OpenAi => {
                (*response_body, None)
            }
            Err(error) => return Err(failure::of(error, address, redactor)),
        };
        let answer = failure::answer(&body, redactor);
        if answer.body.len() > MOST_BYTES {
            return Err(answer.too_large());
        }
        if dialect.shape == Shape::Anthropic {
            return anthropic::response(&dialect.adapter, &answer, *keep_raw_usage);
        }
        match content {
            None => call.completion(&body, &answer),
            Some(content) => response::project(dialect, content, &answer, *keep_raw_usage),
        }
    }

    /// Makes a streamed call. One that cannot be streamed is made without.
    async fn streamed(
        &self,
        call: &Prepared,
        silence: Silence,
        deltas: &ModelDeltas,
    ) -> Result<ModelResponse, ModelError> {
        let Prepared { target, dialect, request, options, keep_raw_usage, redactor, address } = call;
        let Shared { client, refusals, .. } = &self.shared;
        if let Some(reason) = streamed::differs(dialect, options) {
            refusals.warn(&self.name, reason);
            return self.whole(call).await;
        }
        let streamed = StreamedCall { client, dialect, silence, redactor, address, deltas };
        let mut form = refusals.known(&self.name).unwrap_or(RequestForm::Stream);
        let body = loop {
            if form == RequestForm::Whole {
                let response = self.whole(call).await?;
                refusals.remember(&self.name, form);
                return Ok(response);
            }
            // Chat Completions has the usage in a stream only on request.
            let mut options = options.clone();
            options.capture_usage = Some(form == RequestForm::Stream && dialect.shape == Shape::OpenAi);
            match streamed.run(target.clone(), request.clone(), &options).await? {
                Outcome::Refused(next) => form = next,
                Outcome::Body(body) => break body,
            }
        };
        let has_usage = !body["usage"].is_null() || !body["error"].is_null();
        refusals.remember(&self.name, if has_usage { form } else { RequestForm::Whole });
        let answer = failure::answer(&body, redactor);
        if dialect.shape == Shape::Anthropic {
            return anthropic::response(&dialect.adapter, &answer, *keep_raw_usage);
        }
        call.completion(&body, &answer).map_err(|error| answer.with_type(error))
    }
}

impl Prepared {
    /// Returns the model response of an answer of Chat Completions, whole or joined from a stream.
    fn completion(&self, body: &Value, answer: &Answer) -> Result<ModelResponse, ModelError> {
        let content = completion::content(&self.dialect.adapter, body).map_err(|what| answer.invalid(what))?;
        response::project(&self.dialect, content, answer, self.keep_raw_usage)
    }
}

/// Returns the key that a request contains; the crate reports a missing key.
fn secrets(target: &ServiceTarget) -> Vec<secrecy::SecretString> {
    target.auth.single_key_value().ok().map(Into::into).into_iter().collect()
}
