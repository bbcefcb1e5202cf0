//! From the response of `POST /responses` to a model response.

use serde_json::{Map, Value, json};
use temporal_agents_core::wire::{
    Item, ModelFailureKind, ModelResponse,
    incomplete::{CONTENT_FILTER, MAX_OUTPUT_TOKENS},
};

use crate::provider::{
    ModelError,
    http::{answer::Answer, outgoing::unsupported},
    openai::usage,
    stop_reason,
};

const USAGE: usage::Names = usage::Names {
    input: "input_tokens",
    input_details: "input_tokens_details",
    output: "output_tokens",
    output_details: "output_tokens_details",
};

/// Returns the model response of an answer.
///
/// # Errors
/// The failure that the answer represents, if it is not a response, or a failed or unfinished one.
pub(super) fn project(answer: &Answer, keep_raw_usage: bool) -> Result<ModelResponse, ModelError> {
    let mut response = answer.object()?;
    let reason = incomplete_reason(answer, &response)?;
    let Some(Value::Array(output)) = response.remove("output") else {
        return Err(answer.invalid("the response has no output"));
    };
    let output: Result<Vec<Item>, _> = output.into_iter().map(Item::try_from).collect();
    let output = output.map_err(|error| answer.invalid(&error.to_string()))?;
    let is_cut_call = |item: &Item| item.kind() == "function_call" && item.get("status") == Some(&json!("incomplete"));
    let reason = reason.or_else(|| output.iter().any(is_cut_call).then(|| MAX_OUTPUT_TOKENS.to_owned()));
    let (output, incomplete) = stop_reason::conclude(answer, output, reason.as_deref())?;
    let usage = response.get("usage").filter(|usage| !usage.is_null());
    Ok(ModelResponse {
        output,
        usage: USAGE.read(usage),
        response_id: response.get("id").and_then(Value::as_str).map(str::to_owned),
        request_id: answer.request_id(),
        incomplete,
        raw_usage: usage.filter(|_| keep_raw_usage).cloned(),
    })
}

/// Returns the reason that the response stops early, if it does; a response with an unknown status
/// counts as complete.
fn incomplete_reason(answer: &Answer, response: &Map<String, Value>) -> Result<Option<String>, ModelError> {
    match response.get("status").and_then(Value::as_str) {
        Some(status @ ("failed" | "cancelled")) => {
            Err(answer.failure(ModelFailureKind::ResponseFailed, &format!("the response is {status}")))
        }
        Some(status @ ("in_progress" | "queued")) => {
            Err(unsupported(format_args!("the response is {status}: background responses are not waited for")))
        }
        Some("incomplete") => {
            let reason = response.get("incomplete_details").and_then(|details| details["reason"].as_str());
            // Whatever a compatible server says, the response is cut.
            Ok(Some(if reason == Some(CONTENT_FILTER) { CONTENT_FILTER } else { MAX_OUTPUT_TOKENS }.to_owned()))
        }
        _ => Ok(None),
    }
}
