//! Providers of models: for OpenAI, for the crate genai, and the traits for others.
//!
//! A [`ModelProvider`] returns a [`Model`] by name; `Resources::model_provider` adds it to a
//! worker. The guide shows [a provider of your own](crate::guide::providers).

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the worker half runs outside of workflows: it may use clock, environment and tasks"
)]

#[cfg(any(feature = "openai", feature = "genai"))]
mod api_rules;
#[cfg(any(feature = "openai", feature = "genai"))]
mod chat_chunks;
mod convention;
#[cfg(any(feature = "openai", feature = "genai"))]
pub(crate) mod data;
mod deltas;
pub(crate) mod function_shape;
#[cfg(feature = "genai")]
pub(crate) mod genai;
mod held_back;
#[cfg(any(feature = "openai", feature = "genai"))]
mod http;
#[cfg(any(feature = "openai", feature = "genai", feature = "mcp", feature = "otel"))]
pub(crate) mod http_client;
mod model;
#[cfg(feature = "openai")]
pub(crate) mod openai;
mod prices;
pub(crate) mod providers;
mod secrets;

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
