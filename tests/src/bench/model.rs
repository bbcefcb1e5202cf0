//! The scripted model as a provider: it answers at once, and reads of a conversation what the script needs.

use std::sync::Arc;

use futures::future::{BoxFuture, ready};
use temporal_agents::{
    Model, ModelProvider,
    wire::{Item, ModelCall, ModelFailureKind, ModelResponse, Usage},
    worker::ModelError,
};

use super::{script, spec::Spec};

/// The model, under whatever name.
#[derive(Clone, Copy, Debug)]
pub struct ScriptedModel;

impl Model for ScriptedModel {
    fn call(&self, call: ModelCall) -> BoxFuture<'_, Result<ModelResponse, ModelError>> {
        Box::pin(ready(answer(&call)))
    }
}

impl ModelProvider for ScriptedModel {
    fn model<'a>(&'a self, _name: &'a str) -> BoxFuture<'a, Result<Option<Arc<dyn Model>>, ModelError>> {
        Box::pin(ready(Ok(Some(Arc::new(Self) as Arc<dyn Model>))))
    }
}

fn answer(call: &ModelCall) -> Result<ModelResponse, ModelError> {
    let wrong = |what: String| ModelError::new(ModelFailureKind::Internal, what);
    let said = call.input.first().and_then(Item::text).ok_or_else(|| wrong("there is no user message".to_owned()))?;
    let spec: Spec = serde_json::from_str(&said).map_err(|error| wrong(format!("{said:?} is no spec: {error}")))?;
    let results = call.input.iter().filter(|item| script::is_tool_result(Some(item.kind()), item.call_id()));
    let done = u32::try_from(results.count()).map_err(|error| wrong(error.to_string()))?;
    let output = match call.definitions.handoffs.first() {
        Some(handoff) => script::handoff(&handoff.tool_name),
        None => script::answer(&spec, done),
    };
    let output = output.into_iter().map(Item::try_from).collect::<Result<_, _>>();
    Ok(ModelResponse {
        output: output.map_err(|error| wrong(error.to_string()))?,
        usage: Usage::of_tokens(100, 20),
        response_id: Some(script::response_id(done)),
        ..ModelResponse::default()
    })
}
