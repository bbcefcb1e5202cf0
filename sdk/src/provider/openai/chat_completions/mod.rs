//! Chat Completions: a model call as one `POST /chat/completions`, for servers that have no
//! Responses API.
//!
//! The alternative to `responses/mod.rs` as the last step of a model call: [`request`] and
//! [`messages`] project the call, and [`response`] projects the provider's response into the items
//! of the Responses API that the rest of this crate uses. Everything that the API cannot express
//! (hosted tools, server-side state, prompt templates, some settings) is refused by name, never
//! dropped silently.
//!
//! Members of an assistant message that only its server knows (`reasoning_content`, thought
//! signatures) are stored in the item's `provider_data`, and are sent back to the server with the
//! item.

mod events;
mod messages;
mod request;
mod response;

use serde_json::Value;
use temporal_agents_core::wire::{ModelCall, ModelResponse};

use super::{OpenAiApi, endpoint::Endpoint};
use crate::provider::{ModelDeltas, ModelError, http::streaming::Streamed};

/// Makes one request to the model.
pub(super) async fn call(endpoint: &Endpoint, model: &str, call: ModelCall) -> Result<ModelResponse, ModelError> {
    let keep_raw_usage = call.definitions.settings.preserve_raw_usage == Some(true);
    let outgoing = request::project(endpoint.model(model), call)?;
    let answer = endpoint.exchange(OpenAiApi::ChatCompletions, model, outgoing).await?;
    response::project(&answer, keep_raw_usage)
}

/// Makes one request to the model, and sends the parts of the answer while they arrive.
pub(super) async fn stream(
    endpoint: &Endpoint,
    streamed: &Streamed<'_>,
    call: ModelCall,
    deltas: &ModelDeltas,
) -> Result<ModelResponse, ModelError> {
    let keep_raw_usage = call.definitions.settings.preserve_raw_usage == Some(true);
    let outgoing = request::project(endpoint.model(streamed.model), call)?;
    let answer = streamed.answer::<events::CompletionEvents>(endpoint.addressed(outgoing), deltas).await?;
    response::project(&answer, keep_raw_usage)
}

/// Returns the body of the request for a call; `model` is the server's name for the model.
pub(super) fn request_body(model: &str, call: ModelCall) -> Result<Value, ModelError> {
    Ok(Value::Object(request::project(model, call)?.body))
}

#[cfg(test)]
mod tests;
