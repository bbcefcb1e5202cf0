//! The Anthropic provider: models behind the Messages API, of Anthropic or of a compatible server.
//!
//! [`Anthropic`] holds the credentials and the connection, and stays on the worker. One model call is
//! one `POST /messages`: this provider does not retry, follow redirects or wait, because Temporal's
//! retry policy does. What the server states about retries is returned in the [`ModelError`].
//! Settings that the API does not have are refused by name before anything is sent.
//!
//! | file | contents |
//! |---|---|
//! | `builder` | configuration, and its errors |
//! | `models` | the models as data: limits, and how they are told to think |
//! | `request`, `thinking` | model call to the body of a request |
//! | `messages`, `content` | the items of a conversation to messages |
//! | `thoughts` | thinking, in both directions |
//! | `response` | a message to a model response |
//! | `events` | the events of a stream, joined to the message |
//!
//! The HTTP exchange, streams, the interpretation of failures, and the parts that settings add to a
//! request are in `provider/http`; what the API accepts is in `provider/api_rules`. The provider over
//! the crate genai makes its calls of Anthropic here.
//!
//! # Design
//! **Our own adapter, not the genai crate's.** The crate's form has no room for the position of a
//! block, which this API needs most. Thinking moved to the front of a message; unknown blocks, failed
//! results and images by address needed raw blocks; `web_search` became another tool; arguments that
//! are not JSON failed a paid answer. The crate also drops the headers of a success (so the request
//! id), reads bodies without a limit, and its streams differ from whole answers. Each of these had a
//! guard. The price is the table in `models`, which we must keep up to date.

mod builder;
mod content;
mod events;
mod messages;
mod models;
mod request;
mod response;
mod thinking;
mod thoughts;

use std::sync::Arc;

#[cfg(feature = "genai")]
pub(super) use builder::messages_headers;
pub use builder::{AnthropicBuilder, AnthropicConfigError};
use futures::future::BoxFuture;
#[cfg(feature = "genai")]
pub(super) use response::project as response;
use temporal_agents_core::wire::{ModelCall, ModelFailureKind, ModelResponse};

pub(super) use self::events::MessageEvents;
use self::request::Request;
use super::{
    Model, ModelDeltas, ModelError, ModelProvider,
    api_rules::{self, ANTHROPIC, ChangeLog, RequestTarget},
    call_ids::CallIds,
    http::{
        outgoing::Outgoing, refusals::Refusals, silence::SilenceOptions, streaming::Streamed, transport::Transport,
    },
};

/// The version of the API, in the header `anthropic-version` of each request.
const VERSION: (&str, &str) = ("anthropic-version", "2023-06-01");
const KEY_HEADER: &str = "x-api-key";
/// Path of a request, below the version in the address.
const PATH: &str = "/messages";

/// The models of Anthropic, or of a server with its Messages API.
///
/// ```no_run
/// use temporal_agents::provider::Anthropic;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let anthropic = Anthropic::from_env()?;
///
/// let gateway = Anthropic::builder()
///     .api_key("the gateway's key")
///     .base_url("https://gateway.example.com")
///     .header("anthropic-beta", "context-1m-2025-08-07")
///     .build()?;
/// # Ok(())
/// # }
/// ```
///
/// # Names
/// It serves names that begin with `claude`, with or without the namespace `anthropic::`;
/// [`AnthropicBuilder::serving`] replaces this. A name may end in an effort, `claude-opus-4-5-high`:
/// it is removed, and is the effort of the call unless the settings have one.
///
/// # What is mapped
///
/// | of a call | in the request |
/// |---|---|
/// | instructions, `system` and `developer` messages | `system` |
/// | functions, handoffs | `tools`, `strict` if the schema is |
/// | output type | `output_config.format` |
/// | results of one round | one message, `is_error` for failures |
/// | images and files | `data:` URLs and addresses; text files as text |
/// | thinking, and blocks of kinds that this crate does not know | sent back unchanged, in their place |
/// | `temperature`, `top_p`, `metadata` | the same |
/// | `max_tokens` | the same; without it, the most that the model writes (8192 for unknown models) |
/// | `tool_choice`, `parallel_tool_calls` | `tool_choice` |
/// | `reasoning`: `effort`, `budget_tokens`, `summary` | `output_config.effort`, `thinking` |
/// | `prompt_cache_retention`: `in_memory`, `5m`, `1h` | `cache_control` of instructions and tools |
/// | `extra_body`, `extra_args`, `extra_headers`, `extra_query` | added |
///
/// Refused: hosted tools, prompt templates, state at the provider, `verbosity`, `store`,
/// `truncation`, `frequency_penalty`, `presence_penalty`, `response_include`, `top_logprobs`,
/// `context_management`, and `prompt_cache_options`. Left out: calls that another provider executed,
/// and items of unknown kinds. Left out without an error, because they change no response: `name` of
/// messages, `detail` of images, annotations.
///
/// Before 4.6, Claude models refuse to think in a turn that began without thinking, for example
/// with another model. Such a request is sent without `thinking`, which is logged once.
///
/// # Answers
/// A response that reached its limit has [`incomplete`](ModelResponse::incomplete)
/// `max_output_tokens`. If the model refuses, the message is a refusal, which ends the run as one,
/// and `incomplete` is `content_filter`. The [guide](crate::guide::providers) lists the other
/// reasons, and what a run does then.
///
/// # Streams
/// A streamed call ([`Model::stream`]) returns the response that the same answer becomes without
/// streaming. A server that ignores the stream is read whole. If one refuses it by name (400 or
/// 422), the call is repeated without; the provider remembers and logs it.
///
/// Of an answer at most 32 MiB are kept, and of a stream at most 256 MiB read.
#[derive(Clone)]
pub struct Anthropic {
    server: Arc<MessagesServer>,
    serves: Serves,
    name: String,
}

/// A predicate that returns `true` for the model names that a provider serves.
type Serves = Arc<dyn Fn(&str) -> bool + Send + Sync>;

impl Anthropic {
    /// Creates the provider that the environment describes: `ANTHROPIC_API_KEY`, and, if it is set,
    /// `ANTHROPIC_BASE_URL`.
    ///
    /// # Errors
    /// [`AnthropicConfigError`], in particular if `ANTHROPIC_API_KEY` is not set.
    pub fn from_env() -> Result<Self, AnthropicConfigError> {
        AnthropicBuilder::from_env()?.build()
    }

    /// Creates a builder, which reads no environment variable.
    pub fn builder() -> AnthropicBuilder {
        AnthropicBuilder::new()
    }
}

impl ModelProvider for Anthropic {
    fn model<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Arc<dyn Model>>, ModelError>> {
        let model = (self.serves)(name).then(|| -> Arc<dyn Model> {
            Arc::new(MessagesModel {
                name: name.to_owned(),
                model: without_namespace(name).to_owned(),
                server: Arc::clone(&self.server),
            })
        });
        Box::pin(std::future::ready(Ok(model)))
    }

    fn name(&self) -> Option<&str> {
        Some(&self.name)
    }
}

impl std::fmt::Debug for Anthropic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Anthropic").field("transport", &self.server.transport).finish_non_exhaustive()
    }
}

/// Returns a model's name without the namespace `anthropic::`.
fn without_namespace(name: &str) -> &str {
    name.strip_prefix("anthropic::").unwrap_or(name)
}

/// A server of the Messages API, and what is known of it so far.
pub(super) struct MessagesServer {
    pub(super) transport: Transport,
    /// Name of the API in messages, and mark of the thinking that the server returns: `anthropic`.
    pub(super) adapter: String,
    pub(super) silence: SilenceOptions,
    pub(super) refusals: Arc<Refusals>,
    pub(super) changes: Arc<ChangeLog>,
}

/// One model of a server.
pub(super) struct MessagesModel {
    /// The name that agents use.
    pub(super) name: String,
    /// The server's name, which may end in an effort.
    pub(super) model: String,
    pub(super) server: Arc<MessagesServer>,
}

impl Model for MessagesModel {
    fn call(&self, call: ModelCall) -> BoxFuture<'_, Result<ModelResponse, ModelError>> {
        Box::pin(self.ask(call, None))
    }

    fn stream(&self, call: ModelCall, deltas: ModelDeltas) -> BoxFuture<'_, Result<ModelResponse, ModelError>> {
        Box::pin(self.ask(call, Some(deltas)))
    }
}

impl MessagesModel {
    /// Makes a call, and streams it if there is a receiver of deltas.
    pub(super) async fn ask(&self, call: ModelCall, deltas: Option<ModelDeltas>) -> Result<ModelResponse, ModelError> {
        let whose = format!(" (agent {:?}, model {:?})", call.agent, self.name);
        self.exchange(call, deltas).await.map_err(|mut error| {
            if matches!(error.kind, ModelFailureKind::Unsupported | ModelFailureKind::ResponseTooLarge) {
                error.message.push_str(&whose);
            }
            error.at(self.server.transport.address())
        })
    }

    async fn exchange(&self, call: ModelCall, deltas: Option<ModelDeltas>) -> Result<ModelResponse, ModelError> {
        let MessagesServer { transport, adapter, silence, refusals, .. } = &*self.server;
        let silence = silence.of_call(&call.definitions.settings);
        let keep_raw_usage = call.definitions.settings.preserve_raw_usage == Some(true);
        let ids = CallIds::in_conversation(&call);
        let outgoing = self.outgoing(call)?;
        let answer = match deltas {
            None => transport.exchange(PATH, &outgoing).await?,
            Some(deltas) => {
                let streamed = Streamed { transport, path: PATH, refusals, silence, model: &self.name };
                streamed.answer::<MessageEvents>(outgoing, &ids.rename_deltas(deltas)).await?
            }
        };
        response::project(adapter, &answer, keep_raw_usage).map(|response| ids.rename(response))
    }

    /// Returns the request for a call.
    fn outgoing(&self, mut call: ModelCall) -> Result<Outgoing, ModelError> {
        let (model, effort) = thinking::split_effort(&self.model);
        if let Some(effort) = effort {
            let settings = &mut call.definitions.settings;
            settings.reasoning = Some(thinking::with_effort(settings.reasoning.take(), effort));
        }
        let target = RequestTarget {
            model: &self.name,
            provider: &self.server.adapter,
            is_default_provider: false,
            keeps_empty_reasoning: true,
        };
        let agent = call.agent.clone();
        let call = api_rules::prepare(&ANTHROPIC, &target, call, &self.server.changes);
        let Request { outgoing, left_out } = request::project(&self.server.adapter, model, call)?;
        for reason in left_out {
            self.server.changes.add_change(ANTHROPIC.name, &self.name, &agent, reason.to_owned());
        }
        Ok(outgoing)
    }
}

#[cfg(test)]
mod tests;
