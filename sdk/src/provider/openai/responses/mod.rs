//! The Responses API: a model call as one `POST /responses`.
//!
//! Last of the five files of a model call (`drive/mod.rs` -> `workflow/activity_backed_model.rs` ->
//! `wire/model_call.rs` -> `worker/model_activity.rs` -> here, and back). [`request`] projects the
//! call, and [`response`] the provider's response. Items have the API's own shapes and pass
//! verbatim in both directions, including kinds that this crate does not know.
//!
//! Streams and background responses are not used: an activity's result is one whole response.

mod request;
mod response;

use serde_json::Value;

use super::transport::Transport;
use crate::{
    provider::ModelError,
    wire::{ModelCall, ModelFailureKind, ModelResponse},
};

/// Makes one request to the model.
pub(super) async fn call(transport: &Transport, model: &str, call: ModelCall) -> Result<ModelResponse, ModelError> {
    let keep_raw_usage = call.definitions.settings.preserve_raw_usage == Some(true);
    let goes_on_from = call.previous_response_id.clone().or_else(|| call.conversation_id.clone());
    let outgoing = request::project(transport.model(model), call)?;
    let answer = transport.responses(outgoing).await?;
    response::project(&answer, keep_raw_usage).map_err(|error| match goes_on_from {
        Some(id) if is_conversation_missing(&error, &id) => {
            ModelError { kind: ModelFailureKind::ConversationNotFound, ..error }
        }
        _ => error,
    })
}

/// Returns `true` if a failure states that the response or conversation that the call continues
/// from does not exist. Not every server has a code for it: OpenAI has none for conversations, but
/// reports `Conversation with id 'conv_1' not found.`
fn is_conversation_missing(error: &ModelError, id: &str) -> bool {
    let is_about_it = || error.message.contains(id) && error.message.to_ascii_lowercase().contains("not found");
    matches!(error.kind, ModelFailureKind::NotFound | ModelFailureKind::BadRequest) && is_about_it()
}

/// Returns the body of the request for a call; `model` is the server's name for the model.
pub(super) fn request_body(model: &str, call: ModelCall) -> Result<Value, ModelError> {
    Ok(Value::Object(request::project(model, call)?.body))
}

#[cfg(test)]
mod tests;
