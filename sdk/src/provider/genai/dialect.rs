//! The treatment of a request by each of the crate's adapters, as far as it affects a run.
//!
//! Calls of the adapters that speak Anthropic's Messages are made by `provider/anthropic`. The crate
//! makes the calls of Claude on Vertex, whose addresses and credentials are Google's.
//!
//! The crate drops silently what an adapter does not send: an output schema, a choice of tool, all
//! but one of several tool results. So every adapter that is served is listed here with the
//! features that it supports, and everything else is refused before anything is sent. Adapters that
//! lose tools or results are not served at all.

use ::genai::{ModelIden, adapter::AdapterKind};

use crate::provider::{
    ModelError,
    api_rules::{ANTHROPIC, ApiRules, CHAT_COMPLETIONS, GEMINI, OTHER, XAI},
    http::outgoing::unsupported,
};

/// The API family that determines the form of messages, tools and responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// The Messages API of Anthropic, through the crate: Claude on Vertex.
    Anthropic,
    /// `generateContent` of Google: signatures beside parts, calls mostly without ids.
    Gemini,
    /// Chat Completions, in the form that most other providers use.
    OpenAi,
    /// Another API, in which a tool result is only text.
    Plain,
}

/// The features that an adapter supports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Dialect {
    /// Name of the adapter, which is the namespace of its models: `anthropic`.
    pub(super) adapter: String,
    pub(super) shape: Shape,
    /// `true` if the adapter sends a choice of tool, an output schema and extra members of the
    /// body.
    pub(super) options: bool,
    /// `true` if the adapter sends a reasoning effort.
    pub(super) reasoning: bool,
}

/// What makes the calls of an adapter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// `provider/anthropic`, for an adapter of this name.
    Messages(String),
    /// The crate.
    Crate(Dialect),
}

impl Route {
    /// Returns what makes the calls of this model.
    ///
    /// # Errors
    /// As [`Dialect::of`].
    pub(super) fn of(model: &ModelIden) -> Result<Self, ModelError> {
        match model.adapter_kind {
            kind @ (AdapterKind::Anthropic | AdapterKind::MiniMax) => Ok(Self::Messages(name(kind))),
            _ => Dialect::of(model).map(Self::Crate),
        }
    }
}

impl Dialect {
    /// Returns the features that the adapter of this model supports.
    ///
    /// # Errors
    /// [`ModelFailureKind::Unsupported`](temporal_agents_core::wire::ModelFailureKind::Unsupported) for an adapter
    /// that would lose a part of a run.
    fn of(model: &ModelIden) -> Result<Self, ModelError> {
        let adapter = name(model.adapter_kind);
        let (_, model_name) = model.model_name.namespace_and_name();
        let all = |shape| Self { adapter: adapter.clone(), shape, options: true, reasoning: true };
        let little = |shape, reasoning| Self { adapter: adapter.clone(), shape, options: false, reasoning };
        Ok(match model.adapter_kind {
            AdapterKind::Vertex if model_name.starts_with("claude") => little(Shape::Anthropic, false),
            AdapterKind::Gemini | AdapterKind::Vertex => all(Shape::Gemini),
            AdapterKind::BedrockApi | AdapterKind::Ollama | AdapterKind::OllamaCloud => little(Shape::Plain, true),
            AdapterKind::OpenAIResp => {
                return Err(unsupported(format_args!(
                    "the adapter `{adapter}` is not served through genai; use provider::OpenAi for the Responses API, \
                     or `openai::{model_name}` for Chat Completions"
                )));
            }
            AdapterKind::Cohere | AdapterKind::GeminiIx | AdapterKind::Baidu | AdapterKind::OpenCodeGo => {
                return Err(unsupported(format_args!(
                    "the adapter `{adapter}` of genai is not served: it drops parts of a run's requests (tools, \
                     results or settings); use a model of another adapter"
                )));
            }
            _ => all(Shape::OpenAi),
        })
    }

    /// Returns what the API of the adapter accepts.
    pub(super) fn rules(&self) -> &'static ApiRules {
        match self.shape {
            Shape::Anthropic => &ANTHROPIC,
            Shape::Gemini => &GEMINI,
            Shape::OpenAi if self.adapter == "xai" => &XAI,
            Shape::OpenAi => &CHAT_COMPLETIONS,
            Shape::Plain => &OTHER,
        }
    }

    /// Returns `true` if the results of one round are sent in one message. Other adapters receive
    /// one message for each result, which some of them join.
    pub(super) fn joins_tool_results(&self) -> bool {
        self.shape == Shape::Anthropic || self.adapter.starts_with("bedrock")
    }
}

/// Returns the namespace of an adapter's models.
pub(super) fn name(kind: AdapterKind) -> String {
    match kind {
        AdapterKind::Custom(number) => format!("genai_{number}"),
        kind => kind.as_lower_str().to_owned(),
    }
}

/// Returns `true` if a provider without a configured predicate serves this model name. It serves
/// names with the namespace of an adapter, and names that begin like the models of one. OpenAI's
/// own names need the namespace, so that they can be left to [`OpenAi`](crate::provider::OpenAi);
/// and so do those of Ollama, which the crate selects for every name that it does not know.
pub(super) fn serves(model: &str) -> bool {
    let named = model.split_once("::").is_some_and(|(namespace, _)| AdapterKind::from_lower_str(namespace).is_some());
    named
        || AdapterKind::from_model(model).is_ok_and(|kind| {
            let needs_its_name = matches!(kind, AdapterKind::OpenAI | AdapterKind::OpenAIResp | AdapterKind::Ollama);
            !needs_its_name && Route::of(&ModelIden::new(kind, model)).is_ok()
        })
}

#[cfg(test)]
mod tests;
