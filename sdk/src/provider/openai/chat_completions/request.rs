//! From a model call to the body of `POST /chat/completions`.

use serde_json::{Map, Value, json};
use temporal_agents_core::wire::{
    Definitions, HandoffSpec, ModelCall, ModelSettings, OutputSpec, ToolChoice, ToolSpec,
};

use super::messages;
use crate::provider::{
    ModelError,
    api_rules::needs_max_completion_tokens,
    function_shape,
    http::outgoing::{ExtraSettings, Outgoing, refuse, set, unsupported},
};

const API: &str = "Chat Completions";

/// Returns the request for a call; `model` is the server's name for the model.
///
/// # Errors
/// Everything that the API cannot express, by name, and extras that cannot be sent.
pub(super) fn project(model: &str, call: ModelCall) -> Result<Outgoing, ModelError> {
    let ModelCall {
        agent: _,
        turn: _,
        model: name,
        definitions,
        input,
        previous_response_id,
        conversation_id,
        guards_output: _,
        tracing: _,
    } = call;
    let Definitions { instructions, prompt, tools, handoffs, output, settings } = definitions;
    refuse(API, "previous_response_id", previous_response_id.as_ref())?;
    refuse(API, "conversation_id", conversation_id.as_ref())?;
    refuse(API, "prompt", prompt.as_ref())?;

    let mut body = Map::new();
    set(&mut body, "model", Some(model));
    set(&mut body, "messages", Some(messages::project(instructions, &input)?));
    let tools = tools.into_iter().map(tool).chain(handoffs.into_iter().map(|spec| Ok(handoff(spec))));
    let tools: Vec<Value> = tools.collect::<Result<_, _>>()?;
    let has_tools = !tools.is_empty();
    set(&mut body, "tools", has_tools.then_some(tools));
    set(&mut body, "response_format", output.map(response_format));
    apply(&name, settings, has_tools, &mut body)?.around(body)
}

/// Writes the settings into the body; returns the parts that are added outside of it or merged into
/// it later.
fn apply(
    model: &str,
    settings: ModelSettings,
    has_tools: bool,
    body: &mut Map<String, Value>,
) -> Result<ExtraSettings, ModelError> {
    let ModelSettings {
        temperature,
        top_p,
        frequency_penalty,
        presence_penalty,
        tool_choice: choice,
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
    refuse(API, "truncation", truncation.as_ref())?;
    refuse(API, "response_include", response_include.as_ref())?;
    refuse(API, "context_management", context_management.as_ref())?;
    set(body, "temperature", temperature);
    set(body, "top_p", top_p);
    set(body, "frequency_penalty", frequency_penalty);
    set(body, "presence_penalty", presence_penalty);
    set(body, "tool_choice", choice.map(tool_choice).transpose()?);
    // The API refuses the setting if there are no tools.
    set(body, "parallel_tool_calls", parallel_tool_calls.filter(|_| has_tools));
    let max_tokens_name = if needs_max_completion_tokens(model) { "max_completion_tokens" } else { "max_tokens" };
    set(body, max_tokens_name, max_tokens);
    set(body, "reasoning_effort", reasoning.map(reasoning_effort).transpose()?.flatten());
    set(body, "verbosity", verbosity);
    set(body, "metadata", metadata);
    set(body, "store", store);
    set(body, "prompt_cache_retention", prompt_cache_retention);
    set(body, "prompt_cache_options", prompt_cache_options);
    set(body, "logprobs", top_logprobs.map(|_| true));
    set(body, "top_logprobs", top_logprobs);
    Ok(ExtraSettings { args: extra_args, body: extra_body, headers: extra_headers, query: extra_query })
}

fn tool(tool: ToolSpec) -> Result<Value, ModelError> {
    match tool {
        ToolSpec::Function { name, description, parameters, strict } => {
            Ok(function_shape::chat_completions(&name, &description, &parameters, strict))
        }
        ToolSpec::Hosted { name, config: _ } => {
            Err(unsupported(format_args!("the {API} API has no hosted tools such as `{name}`; use functions")))
        }
    }
}

fn handoff(handoff: HandoffSpec) -> Value {
    let HandoffSpec { tool_name, tool_description, input_json_schema, strict, agent_name: _ } = handoff;
    function_shape::chat_completions(&tool_name, &tool_description, &input_json_schema, strict)
}

fn tool_choice(choice: ToolChoice) -> Result<Value, ModelError> {
    match choice {
        ToolChoice::Auto => Ok(json!("auto")),
        ToolChoice::Required => Ok(json!("required")),
        ToolChoice::None => Ok(json!("none")),
        ToolChoice::Tool(name) => Ok(json!({"type": "function", "function": {"name": name}})),
        ToolChoice::Mcp { server_label, name } => Err(unsupported(format_args!(
            "the {API} API has no hosted MCP servers, so `{name}` of `{server_label}` cannot be chosen"
        ))),
    }
}

fn response_format(output: OutputSpec) -> Value {
    let OutputSpec { name, schema, strict } = output;
    json!({"type": "json_schema", "json_schema": {"name": name, "schema": schema, "strict": strict}})
}

/// Returns the effort, the only member of `reasoning` that the API knows.
fn reasoning_effort(reasoning: Value) -> Result<Option<Value>, ModelError> {
    let Value::Object(mut reasoning) = reasoning else {
        return Err(unsupported(format_args!("the {API} API requires `reasoning` to be an object with `effort`")));
    };
    let effort = reasoning.shift_remove("effort").filter(|effort| !effort.is_null());
    match reasoning.iter().find(|(_, value)| !value.is_null()) {
        Some((name, _)) => Err(unsupported(format_args!("the {API} API has no `reasoning.{name}`; remove it"))),
        None => Ok(effort),
    }
}
