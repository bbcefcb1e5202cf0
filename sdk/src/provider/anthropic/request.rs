//! From a model call to the body of `POST /messages`.

use serde_json::{Map, Value, json};
use temporal_agents_core::wire::{
    Definitions, HandoffSpec, ModelCall, ModelSettings, OutputSpec, ToolChoice, ToolSpec,
};

use super::{
    messages::Conversation,
    models::ModelTraits,
    thinking::{self, Reasoning},
};
use crate::provider::{
    ModelError, function_shape,
    http::outgoing::{ExtraSettings, Outgoing, refuse, set, unsupported},
};

/// A request, and the settings that it does not follow.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) outgoing: Outgoing,
    /// The reasons that the model is not told to think as the settings say.
    pub(super) left_out: Vec<&'static str>,
}

/// Returns the request for a call; `model` is the server's name for the model.
///
/// # Errors
/// Everything that the API cannot express, by name, and extras that cannot be sent.
pub(super) fn project(adapter: &str, model: &str, call: ModelCall) -> Result<Request, ModelError> {
    let ModelCall {
        agent: _,
        turn: _,
        model: _,
        definitions,
        input,
        previous_response_id,
        conversation_id,
        guards_output: _,
        tracing: _,
    } = call;
    let Definitions { instructions, prompt, tools, handoffs, output, settings } = definitions;
    refuse(adapter, "previous_response_id", previous_response_id.as_ref())?;
    refuse(adapter, "conversation_id", conversation_id.as_ref())?;
    refuse(adapter, "prompt", prompt.as_ref())?;

    let Conversation { system, messages } = Conversation::from_items(adapter, instructions, &input)?;
    let tools = tools.into_iter().map(|spec| tool(adapter, spec)).chain(handoffs.into_iter().map(|it| Ok(handoff(it))));
    let mut tools = tools.collect::<Result<Vec<_>, _>>()?;
    let mut system: Vec<Value> = system.into_iter().map(|text| json!({"type": "text", "text": text})).collect();
    let has_cache_control = settings.prompt_cache_retention.is_some();
    if let Some(cache_control) = settings.prompt_cache_retention.as_deref().map(cache_control).transpose()? {
        // The cache holds everything before its mark: the tools, then the instructions.
        if let Some(last) = system.last_mut().or(tools.last_mut()) {
            last["cache_control"] = cache_control;
        }
    }

    let mut body = Map::new();
    set(&mut body, "model", Some(model));
    set(&mut body, "system", (!system.is_empty()).then(|| system_content(system, has_cache_control)));
    let has_tools = !tools.is_empty();
    set(&mut body, "tools", has_tools.then_some(tools));
    set(&mut body, "messages", Some(messages));
    apply(adapter, ModelTraits::from_name(model), settings, output, has_tools, body)
}

/// Returns the member `system`: one text, unless a part of it has a mark of the cache.
fn system_content(system: Vec<Value>, has_cache_control: bool) -> Value {
    if has_cache_control {
        return system.into();
    }
    let texts: Vec<&str> = system.iter().filter_map(|block| block["text"].as_str()).collect();
    texts.join("\n\n").into()
}

/// Writes the settings into the body.
fn apply(
    adapter: &str,
    traits: ModelTraits,
    settings: ModelSettings,
    output: Option<OutputSpec>,
    has_tools: bool,
    mut body: Map<String, Value>,
) -> Result<Request, ModelError> {
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
        prompt_cache_retention: _, // a member of the instructions
        include_usage: _,          // always included
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
    refuse(adapter, "truncation", truncation.as_ref())?;
    refuse(adapter, "response_include", response_include.as_ref())?;
    refuse(adapter, "top_logprobs", top_logprobs.as_ref())?;
    refuse(adapter, "context_management", context_management.as_ref())?;
    refuse(adapter, "frequency_penalty", frequency_penalty.as_ref())?;
    refuse(adapter, "presence_penalty", presence_penalty.as_ref())?;
    refuse(adapter, "store", store.as_ref())?;
    refuse(adapter, "prompt_cache_options", prompt_cache_options.as_ref())?;
    refuse(adapter, "verbosity", verbosity.as_ref())?;

    let one_call = has_tools && parallel_tool_calls == Some(false);
    set(&mut body, "tool_choice", choice(adapter, tool_choice, one_call)?);
    let max_tokens = max_tokens.unwrap_or(traits.max_tokens);
    set(&mut body, "max_tokens", Some(max_tokens));
    set(&mut body, "temperature", temperature);
    set(&mut body, "top_p", top_p);
    set(&mut body, "metadata", metadata);
    let mut output_config = Map::new();
    let not_followed =
        Reasoning::from_setting(adapter, reasoning)?.write(&traits, max_tokens, &mut body, &mut output_config);
    if let Some(OutputSpec { name: _, schema, strict: _ }) = output {
        output_config.insert("format".to_owned(), json!({"type": "json_schema", "schema": schema}));
    }
    set(&mut body, "output_config", (!output_config.is_empty()).then_some(output_config));

    let extras = ExtraSettings { args: extra_args, body: extra_body, headers: extra_headers, query: extra_query };
    let mut outgoing = extras.around(body)?;
    let is_without = thinking::leave_out_in_turn_without(&mut outgoing.body);
    let left_out = not_followed.into_iter().chain(is_without.then_some(thinking::NO_THINKING_BEFORE)).collect();
    Ok(Request { outgoing, left_out })
}

fn tool(adapter: &str, tool: ToolSpec) -> Result<Value, ModelError> {
    match tool {
        ToolSpec::Function { name, description, parameters, strict } => {
            Ok(function(&name, &description, &parameters, strict))
        }
        ToolSpec::Hosted { name, config: _ } => Err(unsupported(format_args!(
            "{adapter} has no hosted tools such as `{name}`; use functions, or a model of provider::OpenAi"
        ))),
    }
}

fn handoff(handoff: HandoffSpec) -> Value {
    let HandoffSpec { tool_name, tool_description, input_json_schema, strict, agent_name: _ } = handoff;
    function(&tool_name, &tool_description, &input_json_schema, strict)
}

/// Converts a function. `strict` is sent only if it is true, because false is the API's default.
fn function(name: &str, description: &str, input_schema: &Value, strict: bool) -> Value {
    let mut function = function_shape::anthropic(name, description, input_schema);
    if strict {
        function["strict"] = true.into();
    }
    function
}

/// Converts a tool choice; `one_call` if a response may have only one call.
fn choice(adapter: &str, choice: Option<ToolChoice>, one_call: bool) -> Result<Option<Value>, ModelError> {
    let mut choice = match choice {
        None if !one_call => return Ok(None),
        None | Some(ToolChoice::Auto) => json!({"type": "auto"}),
        Some(ToolChoice::Required) => json!({"type": "any"}),
        Some(ToolChoice::Tool(name)) => json!({"type": "tool", "name": name}),
        // This one has no such member, and needs none.
        Some(ToolChoice::None) => return Ok(Some(json!({"type": "none"}))),
        Some(ToolChoice::Mcp { server_label, name }) => {
            return Err(unsupported(format_args!(
                "{adapter} has no hosted MCP servers, so `{name}` of `{server_label}` cannot be chosen"
            )));
        }
    };
    if one_call {
        choice["disable_parallel_tool_use"] = true.into();
    }
    Ok(Some(choice))
}

/// Converts the time for which the provider keeps the instructions and tools of a call in its
/// prompt cache.
fn cache_control(words: &str) -> Result<Value, ModelError> {
    match words {
        "in_memory" | "in-memory" => Ok(json!({"type": "ephemeral"})),
        "5m" | "1h" => Ok(json!({"type": "ephemeral", "ttl": words})),
        _ => Err(unsupported(format_args!(
            "`prompt_cache_retention` is {words:?}; the prompt cache supports `in_memory`, `5m` and `1h`"
        ))),
    }
}
