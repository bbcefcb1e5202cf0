//! One model call as the provider got it, as JSON.

use serde_json::{Value, json};

#[cfg(feature = "openai")]
use crate::provider::{ModelError, openai};
use crate::wire::ModelCall;

/// A complete model call as JSON: an object with the members of [`ModelCall`], absent ones left out.
///
/// It is what a [`Model`](crate::Model) gets, whatever provider it is of; what goes over the wire from there is the provider's.
pub fn request_json(call: &ModelCall) -> Value {
    let ModelCall { agent, turn, model, definitions, input, previous_response_id, conversation_id } = call;
    let mut json = json!({
        "agent": agent,
        "turn": turn,
        "model": model,
        "definitions": definitions,
        "input": input,
        "previous_response_id": previous_response_id,
        "conversation_id": conversation_id,
    });
    if let Some(members) = json.as_object_mut() {
        members.retain(|_, member| !member.is_null());
    }
    json
}

/// The JSON body that the OpenAI provider sends for a call: of `POST /responses`, or of `POST /chat/completions`.
///
/// The member `model` is the name in the call; a provider for Azure may send the name of a deployment instead.
///
/// # Errors
/// [`ModelError`], where the provider would refuse the call: settings that the API does not have.
#[cfg(feature = "openai")]
pub fn openai_request_body(api: openai::OpenAiApi, call: ModelCall) -> Result<Value, ModelError> {
    openai::request_body(api, call)
}
