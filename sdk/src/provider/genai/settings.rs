//! From the settings of a model call to the crate's options.
//!
//! A setting for which the crate has an option becomes that option; one that only the API has
//! becomes a member of the body, if the adapter merges such members; all others are refused by
//! name.

use ::genai::{
    Headers,
    chat::{CacheControl, ChatOptions, ChatResponseFormat, JsonSpec, ReasoningEffort, ToolChoice as Choice, Verbosity},
};
use serde_json::{Map, Value, json};

use super::dialect::{Dialect, Shape};
use crate::provider::{
    ModelError,
    http::outgoing::{ExtraSettings, Outgoing, refuse, set, unsupported},
};
use temporal_agents_core::wire::{ModelFailureKind, ModelSettings, OutputSpec, ToolChoice};

/// Returns the options for a call.
///
/// # Errors
/// Settings that the adapter does not have, and extras that cannot be sent.
pub(super) fn project(
    dialect: &Dialect,
    settings: ModelSettings,
    output: Option<OutputSpec>,
    has_tools: bool,
) -> Result<ChatOptions, ModelError> {
    let ModelSettings {
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
        include_usage: _, // always included
        response_include,
        top_logprobs,
        extra_query,
        extra_body,
        extra_headers,
        extra_args,
        retry: _, // the activity's retry policy
        context_management,
        prompt_cache_options,
        preserve_raw_usage: _, // concerns the response
        timeout: _,            // the activity's start-to-close timeout
    } = settings;
    let api = dialect.adapter.as_str();
    refuse(api, "truncation", truncation.as_ref())?;
    refuse(api, "response_include", response_include.as_ref())?;
    refuse(api, "top_logprobs", top_logprobs.as_ref())?;
    refuse(api, "context_management", context_management.as_ref())?;
    refuse(api, "extra_query", extra_query.as_ref())?;
    if !dialect.options {
        refuse(api, "extra_body", extra_body.as_ref())?;
        refuse(api, "extra_args", extra_args.as_ref())?;
    }

    let mut body = Map::new();
    let is_chat_completions = dialect.shape == Shape::OpenAi;
    if is_chat_completions {
        set(&mut body, "frequency_penalty", frequency_penalty);
        set(&mut body, "presence_penalty", presence_penalty);
        set(&mut body, "store", store);
        set(&mut body, "prompt_cache_options", prompt_cache_options);
        // The API refuses the setting if there are no tools.
        set(&mut body, "parallel_tool_calls", parallel_tool_calls.filter(|_| has_tools));
    } else {
        refuse(api, "frequency_penalty", frequency_penalty.as_ref())?;
        refuse(api, "presence_penalty", presence_penalty.as_ref())?;
        refuse(api, "store", store.as_ref())?;
        refuse(api, "prompt_cache_options", prompt_cache_options.as_ref())?;
        refuse(api, "verbosity", verbosity.as_ref())?;
    }
    match dialect.shape {
        Shape::OpenAi => set(&mut body, "metadata", metadata),
        _ => refuse(api, "metadata", metadata.as_ref())?,
    }
    let tool_choice = choice(dialect, tool_choice)?;
    if let (Some(false), true, false) = (parallel_tool_calls, has_tools, is_chat_completions) {
        return Err(unsupported(format_args!("the {api} API has no `parallel_tool_calls`; remove it")));
    }
    let cache_control = match dialect.shape {
        Shape::OpenAi => {
            set(&mut body, "prompt_cache_retention", prompt_cache_retention);
            None
        }
        Shape::Anthropic => prompt_cache_retention.as_deref().map(retention).transpose()?,
        Shape::Gemini | Shape::Plain => {
            refuse(api, "prompt_cache_retention", prompt_cache_retention.as_ref())?;
            None
        }
    };
    let response_format = response_format(dialect, output, &mut body)?;
    let (reasoning_effort, shows_reasoning) = effort(dialect, reasoning)?;

    let extras = ExtraSettings { args: extra_args, body: extra_body, headers: extra_headers, query: None };
    let Outgoing { body, headers, query: _ } = extras.around(body)?;
    let headers = headers.iter().filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())));
    Ok(ChatOptions {
        temperature,
        top_p,
        max_tokens: max_tokens.map(whole).transpose()?,
        tool_choice,
        response_format,
        reasoning_effort,
        capture_reasoning_content: shows_reasoning.then_some(true),
        verbosity: verbosity.as_deref().map(verbose).transpose()?,
        cache_control,
        // Errors and refusals may be in responses with a success status, and the crate looks for
        // neither.
        capture_raw_body: Some(true),
        extra_headers: Some(Headers::from(headers.collect::<Vec<_>>())),
        extra_body: (!body.is_empty()).then_some(Value::Object(body)),
        ..ChatOptions::default()
    })
}

fn choice(dialect: &Dialect, choice: Option<ToolChoice>) -> Result<Option<Choice>, ModelError> {
    let choice = match choice {
        None => return Ok(None),
        Some(ToolChoice::Auto) => Choice::Auto,
        Some(ToolChoice::Required) => Choice::Required,
        Some(ToolChoice::None) => Choice::None,
        Some(ToolChoice::Tool(name)) => Choice::Tool { name },
        Some(ToolChoice::Mcp { server_label, name }) => {
            return Err(unsupported(format_args!(
                "{} (through genai) has no hosted MCP servers, so `{name}` of `{server_label}` cannot be chosen",
                dialect.adapter
            )));
        }
    };
    match choice {
        Choice::Auto => Ok(Some(Choice::Auto)),
        choice if dialect.options => Ok(Some(choice)),
        _ => {
            Err(unsupported(format_args!("the {} API has no `tool_choice` through genai; remove it", dialect.adapter)))
        }
    }
}

/// Converts the time for which the provider keeps the instructions and tools of a call in its
/// prompt cache.
fn retention(words: &str) -> Result<CacheControl, ModelError> {
    match words {
        "in_memory" | "in-memory" => Ok(CacheControl::Ephemeral),
        "5m" => Ok(CacheControl::Ephemeral5m),
        "1h" => Ok(CacheControl::Ephemeral1h),
        _ => Err(unsupported(format_args!(
            "`prompt_cache_retention` is {words:?}; the prompt cache supports `in_memory`, `5m` and `1h`"
        ))),
    }
}

/// Converts the output type. The crate requests only strict schemas from Chat Completions, and
/// changes them to fit; a schema that is not strict is put into the body unchanged.
fn response_format(
    dialect: &Dialect,
    output: Option<OutputSpec>,
    body: &mut Map<String, Value>,
) -> Result<Option<ChatResponseFormat>, ModelError> {
    let Some(OutputSpec { name, schema, strict }) = output else { return Ok(None) };
    if !dialect.options {
        return Err(unsupported(format_args!(
            "the {} API supports no output type through genai; let the agent answer in text, or with a tool",
            dialect.adapter
        )));
    }
    if dialect.shape == Shape::OpenAi && !strict {
        let schema = json!({"name": name, "schema": schema, "strict": false});
        body.insert("response_format".to_owned(), json!({"type": "json_schema", "json_schema": schema}));
        return Ok(None);
    }
    Ok(Some(JsonSpec::new(name, Value::clone(&schema)).into()))
}

/// Returns the effort, and `true` if a summary is requested.
fn effort(dialect: &Dialect, reasoning: Option<Value>) -> Result<(Option<ReasoningEffort>, bool), ModelError> {
    let api = &dialect.adapter;
    let Some(reasoning) = reasoning else { return Ok((None, false)) };
    if !dialect.reasoning {
        return Err(unsupported(format_args!("the {api} API has no `reasoning` through genai; remove it")));
    }
    let Value::Object(mut reasoning) = reasoning else {
        return Err(unsupported(format_args!(
            "`reasoning` must be an object with `effort` or `budget_tokens`, and `summary`"
        )));
    };
    reasoning.retain(|_, value| !value.is_null());
    let effort = reasoning.shift_remove("effort");
    // The crate does not send these to Chat Completions.
    let (budget, shows) = match dialect.shape {
        Shape::OpenAi => (None, false),
        _ => (reasoning.shift_remove("budget_tokens"), reasoning.shift_remove("summary").is_some()),
    };
    if let Some((name, _)) = reasoning.iter().next() {
        return Err(unsupported(format_args!("the {api} API has no `reasoning.{name}` through genai; remove it")));
    }
    let effort = match (effort, budget) {
        (None, None) => None,
        (None, Some(budget)) => Some(ReasoningEffort::Budget(budget.as_u64().map_or_else(
            || Err(unsupported(format_args!("`reasoning.budget_tokens` is {budget}, not a number of tokens"))),
            whole,
        )?)),
        (Some(Value::String(word)), None) => Some(ReasoningEffort::from_keyword(&word).ok_or_else(|| {
            unsupported(format_args!(
                "`reasoning.effort` is {word:?}; it is one of none, minimal, low, medium, high, xhigh, max"
            ))
        })?),
        (Some(effort), None) => return Err(unsupported(format_args!("`reasoning.effort` is {effort}, not a string"))),
        (Some(_), Some(_)) => {
            return Err(unsupported("`reasoning` has both `effort` and `budget_tokens`; set one of them"));
        }
    };
    Ok((effort, shows))
}

fn verbose(word: &str) -> Result<Verbosity, ModelError> {
    Verbosity::from_keyword(word)
        .ok_or_else(|| unsupported(format_args!("`verbosity` is {word:?}; it is one of low, medium, high")))
}

fn whole(count: u64) -> Result<u32, ModelError> {
    u32::try_from(count).map_err(|_| {
        ModelError::new(
            ModelFailureKind::BadRequest,
            format!("bad request: {count} tokens are more than any model has"),
        )
    })
}
