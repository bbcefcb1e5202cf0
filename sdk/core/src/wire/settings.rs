//! Model settings: every field of the Agents SDK's `ModelSettings`, all optional.
//!
//! An absent field means "the provider's default". The worker's provider maps the settings that its
//! API has, and refuses those that it does not have. Settings must not contain a secret: everything
//! is recorded in history; credentials stay on the worker.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Settings of a model call. Setters are chainable:
/// `ModelSettings::builder().temperature(0.2).build()`.
///
/// # Source
/// `ModelSettings` of the OpenAI Agents SDK.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, bon::Builder)]
#[serde(default)]
#[builder(on(String, into))]
pub struct ModelSettings {
    /// Sampling temperature, 0 to 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Nucleus sampling, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Frequency penalty, -2 to 2 (Chat Completions only).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frequency_penalty: Option<f64>,
    /// Presence penalty, -2 to 2 (Chat Completions only).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presence_penalty: Option<f64>,
    /// Tool that the model must, may or must not call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
    /// Allows the model to call several tools in one response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parallel_tool_calls: Option<bool>,
    /// Truncation by the provider of an input that is too long: `auto` or `disabled`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truncation: Option<String>,
    /// Maximum number of tokens that the model may write.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Reasoning options in the provider's format, for example `{"effort": "low"}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Value>,
    /// Length of answers: `low`, `medium`, `high`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verbosity: Option<String>,
    /// Labels that the provider stores with the response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
    /// `true` if the provider stores the response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub store: Option<bool>,
    /// Time for which the provider keeps the cached prompt: `in_memory`, `24h`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_cache_retention: Option<String>,
    /// Requests usage where an API omits it by default (Chat Completions streams).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub include_usage: Option<bool>,
    /// Extra parts of the response to include, for example `reasoning.encrypted_content`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_include: Option<Vec<String>>,
    /// Number of alternatives per token that are returned with log probabilities, 0 to 20.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_logprobs: Option<u32>,
    /// Query parameters added to the HTTP request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_query: Option<Map<String, Value>>,
    /// Members merged unchanged into the request body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_body: Option<Map<String, Value>>,
    /// HTTP headers added to the request. They are recorded in history: never put a credential
    /// here, but a [`worker_env`](fn@super::worker_env) reference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_headers: Option<Map<String, Value>>,
    /// Arguments of the API call that have no field here, merged into the body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_args: Option<Map<String, Value>>,
    /// Retries of a failed call: the activity's retry policy in a workflow, and the equivalent in
    /// inline runs and agentic sessions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<ModelRetrySettings>,
    /// Server-side compaction and other context management, in the provider's format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_management: Option<Value>,
    /// Prompt cache options in the provider's format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_cache_options: Option<Value>,
    /// `true` if the provider's own usage object is kept beside the normalised one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preserve_raw_usage: Option<bool>,
    /// Maximum duration of one attempt in seconds: the activity's start-to-close timeout in a
    /// workflow, and the equivalent in inline runs and agentic sessions. Default 600.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<f64>,
}

/// Retry settings of a model call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, bon::Builder)]
#[serde(default)]
#[non_exhaustive]
pub struct ModelRetrySettings {
    /// Maximum number of retries after the first attempt; 0 means one attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_retries: Option<u32>,
    /// Delay between attempts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff: Option<ModelRetryBackoff>,
}

/// Delay between attempts of a model call. Jitter is left to the server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, bon::Builder)]
#[serde(default)]
#[non_exhaustive]
pub struct ModelRetryBackoff {
    /// Seconds before the first retry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_delay: Option<f64>,
    /// Maximum delay in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_delay: Option<f64>,
    /// Factor from one delay to the next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multiplier: Option<f64>,
}

/// Tool that the model must, may or must not call.
///
/// JSON shape: the strings `auto`, `required`, `none`, the name of a tool, or
/// `{"server_label", "name"}` for a tool of a hosted MCP server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolChoice {
    /// The model decides.
    Auto,
    /// Some tool must be called.
    Required,
    /// No tool may be called.
    None,
    /// This tool must be called. A hosted tool is named by its type, such as `web_search`.
    Tool(String),
    /// This tool of a hosted MCP server must be called.
    Mcp {
        /// Label of the server.
        server_label: String,
        /// Name of the tool.
        name: String,
    },
}

impl Serialize for ToolChoice {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Auto => "auto".serialize(serializer),
            Self::Required => "required".serialize(serializer),
            Self::None => "none".serialize(serializer),
            Self::Tool(name) => name.serialize(serializer),
            Self::Mcp { server_label, name } => {
                McpToolChoice { server_label: server_label.clone(), name: name.clone() }.serialize(serializer)
            }
        }
    }
}

impl<'de> Deserialize<'de> for ToolChoice {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Wire {
            Name(String),
            Mcp(McpToolChoice),
        }
        Ok(match Wire::deserialize(deserializer)? {
            Wire::Name(name) => Self::from(name),
            Wire::Mcp(McpToolChoice { server_label, name }) => Self::Mcp { server_label, name },
        })
    }
}

#[derive(Serialize, Deserialize)]
struct McpToolChoice {
    server_label: String,
    name: String,
}

impl From<String> for ToolChoice {
    fn from(name: String) -> Self {
        match name.as_str() {
            "auto" => Self::Auto,
            "required" => Self::Required,
            "none" => Self::None,
            _ => Self::Tool(name),
        }
    }
}

impl From<&str> for ToolChoice {
    fn from(name: &str) -> Self {
        Self::from(name.to_owned())
    }
}

impl ModelSettings {
    /// Returns `true` if both have the same JSON text: the order of members counts, and the sign of
    /// a zero.
    pub(crate) fn has_same_json(&self, other: &Self) -> bool {
        // Serializing both is expensive, so it is done only if equality does not already decide.
        let text = |settings: &Self| serde_json::to_string(settings).ok();
        self == other && (self.equality_implies_same_json() || text(self) == text(other))
    }

    /// Returns `true` if equal settings certainly have the same JSON text, because nothing in these
    /// settings has an order or is zero.
    fn equality_implies_same_json(&self) -> bool {
        let Self {
            temperature,
            top_p,
            frequency_penalty,
            presence_penalty,
            tool_choice: _,
            parallel_tool_calls: _,
            truncation: _,
            max_tokens: _,
            reasoning,
            verbosity: _,
            metadata,
            store: _,
            prompt_cache_retention: _,
            include_usage: _,
            response_include: _,
            top_logprobs: _,
            extra_query,
            extra_body,
            extra_headers,
            extra_args,
            retry,
            context_management,
            prompt_cache_options,
            preserve_raw_usage: _,
            timeout,
        } = self;
        let numbers = [temperature, top_p, frequency_penalty, presence_penalty, timeout];
        let objects = [metadata, extra_query, extra_body, extra_headers, extra_args];
        let values = [reasoning, context_management, prompt_cache_options];
        numbers.into_iter().flatten().all(|number| *number != 0.0)
            && objects.into_iter().all(Option::is_none)
            && values.into_iter().all(Option::is_none)
            && retry.is_none()
    }

    /// Returns these settings with every field that `over` sets replaced; `extra_args` are merged,
    /// `retry` field by field.
    #[must_use]
    pub fn overlaid_by(&self, over: &Self) -> Self {
        let Self {
            temperature,
            top_p,
            frequency_penalty,
            presence_penalty,
            tool_choice,
            parallel_tool_calls,
            truncation,
            max_tokens,
            reasoning,
            verbosity,
            metadata,
            store,
            prompt_cache_retention,
            include_usage,
            response_include,
            top_logprobs,
            extra_query,
            extra_body,
            extra_headers,
            extra_args,
            retry,
            context_management,
            prompt_cache_options,
            preserve_raw_usage,
            timeout,
        } = over;
        Self {
            temperature: temperature.or(self.temperature),
            top_p: top_p.or(self.top_p),
            frequency_penalty: frequency_penalty.or(self.frequency_penalty),
            presence_penalty: presence_penalty.or(self.presence_penalty),
            tool_choice: override_or(tool_choice, &self.tool_choice),
            parallel_tool_calls: parallel_tool_calls.or(self.parallel_tool_calls),
            truncation: override_or(truncation, &self.truncation),
            max_tokens: max_tokens.or(self.max_tokens),
            reasoning: override_or(reasoning, &self.reasoning),
            verbosity: override_or(verbosity, &self.verbosity),
            metadata: override_or(metadata, &self.metadata),
            store: store.or(self.store),
            prompt_cache_retention: override_or(prompt_cache_retention, &self.prompt_cache_retention),
            include_usage: include_usage.or(self.include_usage),
            response_include: override_or(response_include, &self.response_include),
            top_logprobs: top_logprobs.or(self.top_logprobs),
            extra_query: override_or(extra_query, &self.extra_query),
            extra_body: override_or(extra_body, &self.extra_body),
            extra_headers: override_or(extra_headers, &self.extra_headers),
            extra_args: merged(self.extra_args.as_ref(), extra_args.as_ref()).filter(|merged| !merged.is_empty()),
            retry: match (&self.retry, retry) {
                (Some(base), Some(over)) => Some(base.overlaid_by(over)),
                (base, over) => override_or(over, base),
            },
            context_management: override_or(context_management, &self.context_management),
            prompt_cache_options: override_or(prompt_cache_options, &self.prompt_cache_options),
            preserve_raw_usage: preserve_raw_usage.or(self.preserve_raw_usage),
            timeout: timeout.or(self.timeout),
        }
    }
}

impl ModelRetrySettings {
    fn overlaid_by(&self, over: &Self) -> Self {
        let backoff = match (&self.backoff, &over.backoff) {
            (Some(base), Some(over)) => Some(ModelRetryBackoff {
                initial_delay: over.initial_delay.or(base.initial_delay),
                max_delay: over.max_delay.or(base.max_delay),
                multiplier: over.multiplier.or(base.multiplier),
            }),
            (base, over) => override_or(over, base),
        };
        Self { max_retries: over.max_retries.or(self.max_retries), backoff }
    }
}

#[expect(clippy::ref_option, reason = "its callers destructure references to settings, whose fields are options")]
fn override_or<T: Clone>(over: &Option<T>, base: &Option<T>) -> Option<T> {
    over.as_ref().or(base.as_ref()).cloned()
}

fn merged(base: Option<&Map<String, Value>>, over: Option<&Map<String, Value>>) -> Option<Map<String, Value>> {
    let mut all = base.or(over)?.clone();
    for (name, value) in over.into_iter().flatten() {
        all.insert(name.clone(), value.clone());
    }
    Some(all)
}
