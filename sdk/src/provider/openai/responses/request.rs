//! From a model call to the body of `POST /responses`.

use serde_json::{Map, Value, json};
use temporal_agents_core::wire::{
    Definitions, HandoffSpec, Item, ModelCall, ModelSettings, OutputSpec, Prompt, ToolChoice, ToolSpec, item::IS_ERROR,
};

use crate::provider::{
    ModelError,
    data::PROVIDER_DATA,
    function_shape,
    http::outgoing::{ExtraSettings, Outgoing, refuse, set},
};

const LOGPROBS: &str = "message.output_text.logprobs";

/// The tools that the provider executes, which a tool choice names by their type.
const HOSTED_TYPES: [&str; 12] = [
    "file_search",
    "web_search",
    "web_search_preview",
    "code_interpreter",
    "image_generation",
    "mcp",
    "shell",
    "local_shell",
    "apply_patch",
    "computer",
    "computer_use",
    "computer_use_preview",
];

/// Returns the request for a call; `model` is the server's name for the model.
///
/// # Errors
/// Settings that the API does not have, and extras that cannot be sent.
pub(super) fn project(model: &str, call: ModelCall) -> Result<Outgoing, ModelError> {
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

    let mut body = Map::new();
    set(&mut body, "model", Some(model));
    set(&mut body, "input", Some(input.iter().filter_map(input_item).collect::<Vec<_>>()));
    set(&mut body, "instructions", instructions);
    set(&mut body, "prompt", prompt.map(prompt_template));
    set(&mut body, "previous_response_id", previous_response_id);
    set(&mut body, "conversation", conversation_id);
    let tool_choice = settings.tool_choice.as_ref().map(|choice| tool_choice(choice, &tools, &handoffs));
    let offered: Vec<Value> = tools.into_iter().map(tool).chain(handoffs.into_iter().map(handoff)).collect();
    let has_tools = !offered.is_empty();
    set(&mut body, "tools", has_tools.then_some(offered));
    set(&mut body, "tool_choice", tool_choice);
    set(&mut body, "text", text(output, settings.verbosity.clone()));
    apply(settings, has_tools, &mut body)?.around(body)
}

/// Writes the settings into the body; returns the parts that are added outside of it or merged into
/// it later.
fn apply(settings: ModelSettings, has_tools: bool, body: &mut Map<String, Value>) -> Result<ExtraSettings, ModelError> {
    let ModelSettings {
        temperature,
        top_p,
        frequency_penalty,
        presence_penalty,
        tool_choice: _, // set with the tools above
        parallel_tool_calls,
        truncation,
        max_tokens,
        reasoning,
        verbosity: _, // set with the output format above
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
    refuse("Responses", "frequency_penalty", frequency_penalty.as_ref())?;
    refuse("Responses", "presence_penalty", presence_penalty.as_ref())?;
    set(body, "temperature", temperature);
    set(body, "top_p", top_p);
    // The API refuses the setting if there are no tools.
    set(body, "parallel_tool_calls", parallel_tool_calls.filter(|_| has_tools));
    set(body, "truncation", truncation);
    set(body, "max_output_tokens", max_tokens);
    set(body, "reasoning", reasoning);
    set(body, "metadata", metadata);
    set(body, "store", store);
    set(body, "prompt_cache_retention", prompt_cache_retention);
    set(body, "include", include(response_include, top_logprobs));
    set(body, "top_logprobs", top_logprobs);
    set(body, "context_management", context_management);
    set(body, "prompt_cache_options", prompt_cache_options);
    Ok(ExtraSettings { args: extra_args, body: extra_body, headers: extra_headers, query: extra_query })
}

/// Returns an item without three members: `is_error`, which is this crate's own; `provider_data`,
/// in which other providers store data that only they understand (a reasoning item with such data
/// is left out); and `created_by`, which the API sends but does not accept.
fn input_item(item: &Item) -> Option<Value> {
    if item.get(PROVIDER_DATA).is_some() && item.kind() == "reasoning" {
        return None;
    }
    Some(item.without(IS_ERROR).without(PROVIDER_DATA).without("created_by").to_value())
}

fn prompt_template(prompt: Prompt) -> Value {
    let Prompt { id, version, variables } = prompt;
    let mut template = Map::new();
    set(&mut template, "id", Some(id));
    set(&mut template, "version", version);
    set(&mut template, "variables", variables);
    Value::Object(template)
}

fn tool(tool: ToolSpec) -> Value {
    match tool {
        ToolSpec::Function { name, description, parameters, strict } => {
            function_shape::responses(&name, &description, &parameters, strict)
        }
        ToolSpec::Hosted { name: _, config } => Value::Object(config),
    }
}

fn handoff(handoff: HandoffSpec) -> Value {
    let HandoffSpec { tool_name, tool_description, input_json_schema, strict, agent_name: _ } = handoff;
    function_shape::responses(&tool_name, &tool_description, &input_json_schema, strict)
}

/// Converts a tool choice. A name refers to an offered function before it refers to a hosted tool.
fn tool_choice(choice: &ToolChoice, tools: &[ToolSpec], handoffs: &[HandoffSpec]) -> Value {
    match choice {
        ToolChoice::Auto => json!("auto"),
        ToolChoice::Required => json!("required"),
        ToolChoice::None => json!("none"),
        ToolChoice::Mcp { server_label, name } => json!({"type": "mcp", "server_label": server_label, "name": name}),
        ToolChoice::Tool(name) => {
            let is_function = handoffs.iter().any(|handoff| handoff.tool_name == *name)
                || tools.iter().any(|tool| matches!(tool, ToolSpec::Function { name: other, .. } if other == name));
            let is_custom = |tool: &ToolSpec| match tool {
                ToolSpec::Hosted { name: other, config } => {
                    other == name && config.get("type").is_some_and(|kind| kind == "custom")
                }
                ToolSpec::Function { .. } => false,
            };
            if !is_function && tools.iter().any(is_custom) {
                return json!({"type": "custom", "name": name});
            }
            let is_hosted = tools.iter().any(|tool| tool.name() == name) || HOSTED_TYPES.contains(&name.as_str());
            if is_hosted && !is_function { json!({"type": name}) } else { json!({"type": "function", "name": name}) }
        }
    }
}

fn text(output: Option<OutputSpec>, verbosity: Option<String>) -> Option<Value> {
    let mut text = Map::new();
    if let Some(OutputSpec { name, schema, strict }) = output {
        let format = json!({"type": "json_schema", "name": name, "schema": schema, "strict": strict});
        set(&mut text, "format", Some(format));
    }
    set(&mut text, "verbosity", verbosity);
    (!text.is_empty()).then_some(Value::Object(text))
}

fn include(asked: Option<Vec<String>>, top_logprobs: Option<u32>) -> Option<Vec<String>> {
    let mut include = asked.unwrap_or_default();
    if top_logprobs.is_some() && !include.iter().any(|part| part == LOGPROBS) {
        include.push(LOGPROBS.to_owned());
    }
    (!include.is_empty()).then_some(include)
}
