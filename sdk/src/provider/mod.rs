//! Providers of models: the traits [`Model`] and [`ModelProvider`], and the providers for OpenAI
//! and for the crate genai.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "activities run once, outside of workflows: clock, environment and tasks are theirs to use"
)]

#[cfg(any(feature = "openai", feature = "genai"))]
pub(crate) mod data;
pub(crate) mod function_shape;
#[cfg(feature = "genai")]
pub(crate) mod genai;
#[cfg(any(feature = "openai", feature = "genai"))]
mod http;
#[cfg(any(feature = "openai", feature = "genai", feature = "mcp"))]
pub(crate) mod http_client;
mod model;
#[cfg(feature = "openai")]
pub(crate) mod openai;
pub(crate) mod providers;
mod secrets;

#[cfg(feature = "genai")]
pub use genai::{Genai, GenaiBuilder, GenaiConfigError};
pub use model::{Model, ModelError, ModelProvider};
#[cfg(feature = "openai")]
pub use openai::{Azure, OpenAi, OpenAiApi, OpenAiBuilder, OpenAiConfigError};
