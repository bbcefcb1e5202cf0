//! The Responses API: a model call as one `POST /responses`.
//!
//! A model call comes here from `worker/model_activity.rs`, through `provider/providers.rs`, and
//! ends here. [`request`] converts the call to the API's JSON, and [`response`] the provider's
//! response. Items have the API's own shapes and pass verbatim in both directions, including kinds
//! that this crate does not know.
//!
//! The result of a call is one whole response, also of a streamed one: its last event contains it
//! ([`events`]). Background responses are not used.

mod events;
mod request;
mod response;

use serde_json::Value;
use temporal_agents_core::wire::{ModelCall, ModelFailureKind, ModelResponse};

use super::{OpenAiApi, endpoint::Endpoint};
use crate::provider::{
    ModelDeltas, ModelError, api_rules,
    http::{answer::Answer, streaming::Streamed},
};

/// Makes one request to the model.
pub(super) async fn call(endpoint: &Endpoint, model: &str, call: ModelCall) -> Result<ModelResponse, ModelError> {
    let expected = Expected::of(&call);
    let plain = call.clone();
    let outgoing = request::project(endpoint.model(model), call)?;
    // An HTTP response of any status: `response` makes an error of those that are not 2xx.
    let mut answer = endpoint.exchange(OpenAiApi::Responses, model, outgoing).await?;
    if let Some(plain) = without_refused_items(&answer, plain) {
        let outgoing = request::project(endpoint.model(model), plain)?;
        answer = endpoint.exchange(OpenAiApi::Responses, model, outgoing).await?;
    }
    expected.read(&answer)
}

/// Makes one request to the model, and sends the parts of the answer while they arrive.
pub(super) async fn stream(
    endpoint: &Endpoint,
    streamed: &Streamed<'_>,
    call: ModelCall,
    deltas: &ModelDeltas,
) -> Result<ModelResponse, ModelError> {
    let expected = Expected::of(&call);
    let plain = call.clone();
    let outgoing = request::project(endpoint.model(streamed.model), call)?;
    let mut answer = streamed.answer::<events::ResponseEvents>(endpoint.addressed(outgoing), deltas).await?;
    if let Some(plain) = without_refused_items(&answer, plain) {
        let outgoing = request::project(endpoint.model(streamed.model), plain)?;
        answer = streamed.answer::<events::ResponseEvents>(endpoint.addressed(outgoing), deltas).await?;
    }
    expected.read(&answer)
}

/// Returns a call without what a server made, if an answer refuses some of that.
///
/// Reasoning and ids are of use to the server that made them. Another server, another project, or
/// the same one after 30 days does not know them, and nothing in an item tells. Without them the
/// conversation says the same.
fn without_refused_items(answer: &Answer, call: ModelCall) -> Option<ModelCall> {
    const ABOUT_ITEMS: [&str; 5] = [
        "was provided without its required",
        "Item with id",
        "encrypted content",
        "Reasoning input items can only be provided",
        "not persisted",
    ];
    let text = answer.text();
    let is_about_items = answer.is_refused_for_form() && ABOUT_ITEMS.iter().any(|part| text.contains(part));
    let input = is_about_items.then(|| api_rules::without_server_items(&call.input)).flatten()?;
    tracing::warn!(agent = call.agent, "the server refuses items of another server; they are left out");
    Some(ModelCall { input, ..call })
}

/// The parts of a call that its answer is read with.
struct Expected {
    keep_raw_usage: bool,
    /// Id of the response or the conversation that the call continues from.
    continues_from: Option<String>,
}

impl Expected {
    fn of(call: &ModelCall) -> Self {
        Self {
            keep_raw_usage: call.definitions.settings.preserve_raw_usage == Some(true),
            continues_from: call.previous_response_id.clone().or_else(|| call.conversation_id.clone()),
        }
    }

    fn read(self, answer: &Answer) -> Result<ModelResponse, ModelError> {
        response::project(answer, self.keep_raw_usage).map_err(|error| match self.continues_from {
            Some(id) if is_conversation_missing(&error, &id) => {
                ModelError { kind: ModelFailureKind::ConversationNotFound, ..error }
            }
            _ => error,
        })
    }
}

/// Returns `true` if a failure states that the response or conversation that the call continues
/// from does not exist. Not every provider has a code for it: OpenAI has none for conversations,
/// but reports `Conversation with id 'conv_1' not found.`
fn is_conversation_missing(error: &ModelError, id: &str) -> bool {
    let is_about_it = || error.message.contains(id) && error.message.to_ascii_lowercase().contains("not found");
    matches!(error.kind, ModelFailureKind::NotFound | ModelFailureKind::BadRequest) && is_about_it()
}

/// Returns the body of the request for a call; `model` is the provider's name for the model.
pub(super) fn request_body(model: &str, call: ModelCall) -> Result<Value, ModelError> {
    Ok(Value::Object(request::project(model, call)?.body))
}

#[cfg(test)]
mod tests;
