//! From a model call to the crate's request.

use ::genai::chat::{ChatOptions, ChatRequest, Tool};
use serde_json::Value;

use super::{
    dialect::{Dialect, Shape},
    messages, settings,
};
use crate::provider::{
    ModelError,
    http::outgoing::{refuse, unsupported},
};
use temporal_agents_core::wire::{Definitions, HandoffSpec, ModelCall, ToolSpec};

/// The names of functions that the crate would convert to the provider's own tools. Anthropic's
/// concerns Claude on Vertex.
const RESERVED_NAMES: [(Shape, &[&str]); 2] = [
    (Shape::Anthropic, &["web_search"]),
    (Shape::Gemini, &["googleSearch", "googleSearchRetrieval", "codeExecution", "urlContext"]),
];

/// Returns the request for a call, and its options.
///
/// # Errors
/// Everything that the adapter cannot express, by name, and extras that cannot be sent.
pub(super) fn project(dialect: &Dialect, call: ModelCall) -> Result<(ChatRequest, ChatOptions), ModelError> {
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
    refuse(&dialect.adapter, "previous_response_id", previous_response_id.as_ref())?;
    refuse(&dialect.adapter, "conversation_id", conversation_id.as_ref())?;
    refuse(&dialect.adapter, "prompt", prompt.as_ref())?;

    let tools =
        tools.into_iter().map(|spec| tool(dialect, spec)).chain(handoffs.into_iter().map(|it| handoff(dialect, it)));
    let tools = tools.collect::<Result<Vec<_>, _>>()?;
    let options = settings::project(dialect, settings, output, !tools.is_empty())?;
    let request = ChatRequest {
        system: instructions,
        messages: messages::project(dialect, &input)?,
        tools: (!tools.is_empty()).then_some(tools),
        ..ChatRequest::default()
    };
    Ok((request, options))
}

fn tool(dialect: &Dialect, tool: ToolSpec) -> Result<Tool, ModelError> {
    match tool {
        ToolSpec::Function { name, description, parameters, strict } => {
            function(dialect, &name, description, &parameters, strict)
        }
        ToolSpec::Hosted { name, config: _ } => Err(unsupported(format_args!(
            "{} (through genai) has no hosted tools such as `{name}`; use functions, or a model of provider::OpenAi",
            dialect.adapter
        ))),
    }
}

fn handoff(dialect: &Dialect, handoff: HandoffSpec) -> Result<Tool, ModelError> {
    let HandoffSpec { tool_name, tool_description, input_json_schema, strict, agent_name: _ } = handoff;
    function(dialect, &tool_name, tool_description, &input_json_schema, strict)
}

/// Converts a function. `strict` is sent only if it is true, because false is the default of the
/// APIs.
fn function(
    dialect: &Dialect,
    name: &str,
    description: String,
    parameters: &Value,
    strict: bool,
) -> Result<Tool, ModelError> {
    if RESERVED_NAMES.iter().any(|(shape, names)| *shape == dialect.shape && names.contains(&name)) {
        return Err(unsupported(format_args!(
            "{} (through genai) has a hosted tool of its own under the name `{name}`; rename the function",
            dialect.adapter
        )));
    }
    let tool = Tool::new(name.to_owned()).with_description(description).with_schema(parameters.clone());
    Ok(if strict { tool.with_strict(true) } else { tool })
}
