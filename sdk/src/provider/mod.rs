//! Providers of models: for OpenAI, for Anthropic, for the crate genai, and the traits for others.
//!
//! A [`ModelProvider`] returns a [`Model`] by name; `Resources::model_provider` adds it to a
//! worker. The guide shows [a provider of your own](crate::guide::providers).

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the worker half runs outside of workflows: it may use clock, environment and tasks"
)]

#[cfg(any(feature = "openai", feature = "anthropic"))]
mod answer_items;
#[cfg(feature = "anthropic")]
mod anthropic;
#[cfg_attr(
    not(all(feature = "openai", feature = "genai")),
    allow(dead_code, unused_imports, reason = "the APIs of providers that are not built")
)]
#[cfg(any(feature = "openai", feature = "anthropic"))]
mod api_rules;
#[cfg(any(feature = "openai", feature = "anthropic"))]
mod call_ids;
#[cfg(any(feature = "openai", feature = "genai"))]
mod chat_chunks;
mod convention;
#[cfg(any(feature = "openai", feature = "anthropic"))]
pub(crate) mod data;
pub(crate) mod data_url;
mod deltas;
pub(crate) mod function_shape;
#[cfg(feature = "genai")]
pub(crate) mod genai;
mod held_back;
#[cfg(any(feature = "openai", feature = "anthropic"))]
mod http;
#[cfg(any(feature = "openai", feature = "anthropic", feature = "mcp", feature = "otel"))]
pub(crate) mod http_client;
mod model;
#[cfg(feature = "openai")]
pub(crate) mod openai;
mod prices;
pub(crate) mod providers;
mod secrets;
#[cfg(any(feature = "openai", feature = "anthropic"))]
mod stop_reason;

#[cfg(feature = "anthropic")]
pub use anthropic::{Anthropic, AnthropicBuilder, AnthropicConfigError};
pub(crate) use convention::provider_of;
pub use deltas::{ModelDelta, ModelDeltas};
#[doc(no_inline)]
pub use futures::future::BoxFuture;
#[cfg(feature = "genai")]
pub use genai::{Genai, GenaiBuilder, GenaiConfigError};
pub use model::{Model, ModelError, ModelProvider};
#[cfg(feature = "openai")]
pub use openai::{Azure, OpenAi, OpenAiApi, OpenAiBuilder, OpenAiConfigError};
pub use prices::PriceTable;
