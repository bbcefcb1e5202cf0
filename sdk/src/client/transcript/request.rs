//! One model call as JSON, as the provider received it.

use serde_json::{Value, json};
use temporal_agents_core::wire::ModelCall;

#[cfg(feature = "openai")]
use crate::provider::{ModelError, openai};

/// Converts a complete model call to JSON: an object with the members of [`ModelCall`], absent ones
/// left out.
///
/// A [`Model`](crate::Model) of any provider receives this call; each provider has its own wire
/// format for it.
pub fn request_json(call: &ModelCall) -> Value {
    let ModelCall {
        agent,
        turn,
        model,
        definitions,
        input,
        previous_response_id,
        conversation_id,
        // A provider receives nothing of it.
        guards_output: _,
        tracing: _,
    } = call;
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

/// Returns the JSON body that the OpenAI provider sends for a call: of `POST /responses`, or of
/// `POST /chat/completions`.
///
/// The member `model` is the name in the call; a provider for Azure may send the name of a
/// deployment instead.
///
/// # Errors
/// [`ModelError`] when the provider would refuse the call because of settings that the API does not
/// have.
#[cfg(feature = "openai")]
pub fn openai_request_body(api: openai::OpenAiApi, call: ModelCall) -> Result<Value, ModelError> {
    openai::request_body(api, call)
}
