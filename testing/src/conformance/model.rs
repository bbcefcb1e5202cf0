//! The scripted model: reports each call to the recorder, and returns the script's responses.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::{Value, json};
use temporal_agents::{
    Model, ModelProvider,
    provider::ModelError,
    wire::{Definitions, HandoffSpec, Item, ModelCall, ModelFailureKind, ModelResponse, OutputSpec, ToolSpec},
};

use super::{format::Response, recorder::Recorder};

/// The models of a scenario: each agent's model is named after the agent's key.
pub(crate) struct ScriptedModels(pub(crate) Recorder);

/// The model of one agent.
struct ScriptedModel {
    agent: String,
    recorder: Recorder,
}

impl ModelProvider for ScriptedModels {
    fn model<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Arc<dyn Model>>, ModelError>> {
        let model = ScriptedModel { agent: name.to_owned(), recorder: self.0.clone() };
        let model: Arc<dyn Model> = Arc::new(model);
        Box::pin(std::future::ready(Ok(Some(model))))
    }
}

impl Model for ScriptedModel {
    fn call(&self, call: ModelCall) -> BoxFuture<'_, Result<ModelResponse, ModelError>> {
        Box::pin(async move {
            self.recorder.model_is_due(&self.agent).await.map_err(|over| failure(over.to_string()))?;
            match self.recorder.model_called(&self.agent, self.call_json(call)) {
                Response { raises: Some(text), .. } => Err(failure(text)),
                Response { output, usage, response_id, raises: None } => {
                    let usage = usage.unwrap_or_default().into();
                    let mut response = ModelResponse::new(output.unwrap_or_default(), usage);
                    response.response_id = response_id;
                    Ok(response)
                }
            }
        })
    }
}

impl ScriptedModel {
    /// Converts the call to the form in which the format reports it.
    fn call_json(&self, call: ModelCall) -> Value {
        let Definitions { instructions, tools, handoffs, output, settings, .. } = call.definitions;
        json!({
            "agent": self.agent,
            "system_instructions": instructions,
            "input": call.input.iter().map(Item::to_value).collect::<Vec<_>>(),
            "tools": tools.into_iter().map(tool_json).collect::<Vec<_>>(),
            "handoffs": handoffs.into_iter().map(handoff_json).collect::<Vec<_>>(),
            "output_schema": output.map(output_json),
            "model_settings": settings,
            "previous_response_id": call.previous_response_id,
            "conversation_id": call.conversation_id,
        })
    }
}

/// Creates a failure with this message, of a kind that is not retried.
fn failure(message: String) -> ModelError {
    ModelError::new(ModelFailureKind::BadRequest, message)
}

fn tool_json(tool: ToolSpec) -> Value {
    match tool {
        ToolSpec::Function { name, description, parameters, strict } => {
            json!({"name": name, "description": description, "parameters": parameters, "strict": strict})
        }
        ToolSpec::Hosted { name, config } => {
            json!({"name": name, "hosted": config.get("type"), "server_label": config.get("server_label")})
        }
    }
}

fn handoff_json(handoff: HandoffSpec) -> Value {
    let HandoffSpec { tool_name, tool_description, input_json_schema, strict, .. } = handoff;
    json!({
        "tool_name": tool_name,
        "tool_description": tool_description,
        "input_json_schema": input_json_schema,
        "strict": strict,
    })
}

fn output_json(output: OutputSpec) -> Value {
    let OutputSpec { name, schema, strict, .. } = output;
    json!({"name": name, "schema": schema, "strict": strict})
}
