//! The scripted model as a provider: it answers immediately, or after a pause, and reads from a conversation only the
//! values that the script needs.

use std::{sync::Arc, time::Duration};

use futures::future::{BoxFuture, ready};
use serde_json::Value;
use temporal_agents::{
    Model, ModelProvider,
    provider::ModelError,
    wire::{Item, ModelCall, ModelFailureKind, ModelResponse, Usage},
};
use tokio::time::sleep;

use super::{script, spec::Spec};

/// Name of the model that answers by the number of the turn, and not by the conversation.
pub const BY_TURN: &str = "scripted-by-turn";

/// Name of the model that makes all its calls in one response.
pub const AT_ONCE: &str = "scripted-at-once";

/// The scripted model, under any name.
#[derive(Clone, Copy, Debug)]
pub struct ScriptedModel;

impl Model for ScriptedModel {
    fn call(&self, call: ModelCall) -> BoxFuture<'_, Result<ModelResponse, ModelError>> {
        Box::pin(ready(answer(&call)))
    }
}

impl ModelProvider for ScriptedModel {
    fn model<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Arc<dyn Model>>, ModelError>> {
        let model: Arc<dyn Model> = match name {
            BY_TURN => Arc::new(ByTurn),
            AT_ONCE => Arc::new(AtOnce),
            _ => Arc::new(Self),
        };
        Box::pin(ready(Ok(Some(model))))
    }
}

/// The scripted model, under any name, with a pause before each answer.
#[derive(Clone, Copy, Debug)]
pub struct PausingModel(pub Duration);

impl ModelProvider for PausingModel {
    fn model<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Arc<dyn Model>>, ModelError>> {
        Box::pin(async move {
            let model = ScriptedModel.model(name).await?;
            Ok(model.map(|model| Arc::new(Pausing { model, pause: self.0 }) as Arc<dyn Model>))
        })
    }
}

struct Pausing {
    model: Arc<dyn Model>,
    pause: Duration,
}

impl Model for Pausing {
    fn call(&self, call: ModelCall) -> BoxFuture<'_, Result<ModelResponse, ModelError>> {
        Box::pin(async move {
            sleep(self.pause).await;
            self.model.call(call).await
        })
    }
}

struct ByTurn;

impl Model for ByTurn {
    fn call(&self, call: ModelCall) -> BoxFuture<'_, Result<ModelResponse, ModelError>> {
        let spec = call.definitions.instructions.as_deref().unwrap_or_default();
        Box::pin(ready(spec_of(spec).and_then(|spec| {
            let done = call.turn.saturating_sub(1);
            response(script::answer(&spec, done), done)
        })))
    }
}

struct AtOnce;

impl Model for AtOnce {
    fn call(&self, call: ModelCall) -> BoxFuture<'_, Result<ModelResponse, ModelError>> {
        let said = call.input.first().and_then(Item::text).unwrap_or_default();
        let burst = serde_json::from_str(&said).map_err(|error| wrong(format!("{said:?} is not a burst: {error}")));
        let is_done = call.input.iter().any(|item| script::is_tool_result(Some(item.kind()), item.call_id()));
        Box::pin(ready(burst.and_then(|burst| response(script::burst(&burst, is_done), u32::from(is_done)))))
    }
}

fn wrong(what: String) -> ModelError {
    ModelError::new(ModelFailureKind::Internal, what)
}

fn spec_of(said: &str) -> Result<Spec, ModelError> {
    serde_json::from_str(said).map_err(|error| wrong(format!("{said:?} is not a spec: {error}")))
}

fn answer(call: &ModelCall) -> Result<ModelResponse, ModelError> {
    let said = call.input.first().and_then(Item::text).ok_or_else(|| wrong("there is no user message".to_owned()))?;
    let spec = spec_of(&said)?;
    let results = call.input.iter().filter(|item| script::is_tool_result(Some(item.kind()), item.call_id()));
    let done = u32::try_from(results.count()).map_err(|error| wrong(error.to_string()))?;
    let output = match call.definitions.handoffs.first() {
        Some(handoff) => script::handoff(&handoff.tool_name),
        None => script::answer(&spec, done),
    };
    response(output, done)
}

fn response(output: Vec<Value>, done: u32) -> Result<ModelResponse, ModelError> {
    let output = output.into_iter().map(Item::try_from).collect::<Result<_, _>>();
    let output = output.map_err(|error| wrong(error.to_string()))?;
    let mut response = ModelResponse::new(output, Usage::of_tokens(100, 20));
    response.response_id = Some(script::response_id(done));
    Ok(response)
}
