//! From a chat completion to a model response.

use serde_json::{Map, Value, json};
use temporal_agents_core::wire::{Item, ModelResponse};

use crate::provider::{
    ModelError,
    data::PROVIDER_DATA,
    http::{answer::Answer, classify::ProviderError, outgoing::set},
    openai::usage,
    stop_reason,
};

const USAGE: usage::Names = usage::Names {
    input: "prompt_tokens",
    input_details: "prompt_tokens_details",
    output: "completion_tokens",
    output_details: "completion_tokens_details",
};

/// Returns the model response of an answer. It has no response id, because no later call can refer
/// to it by one.
///
/// # Errors
/// The failure that the answer represents, if it is not a completion with a message, or the model
/// stopped with an error.
pub(super) fn project(answer: &Answer, keep_raw_usage: bool) -> Result<ModelResponse, ModelError> {
    let mut completion = answer.object()?;
    let Some(Value::Array(choices)) = completion.get_mut("choices") else {
        return Err(answer.invalid("the completion has no choices"));
    };
    let Some(choice) = choices.first_mut() else {
        return Err(answer.invalid("the completion has an empty list of choices"));
    };
    let reason = choice.get("finish_reason").and_then(Value::as_str).map(str::to_owned);
    let message = match (choice.get_mut("message").map(Value::take), &reason) {
        (Some(Value::Object(message)), _) => message,
        // Google leaves the message out if a filter left nothing of it.
        (None | Some(Value::Null), Some(_)) => Map::new(),
        _ => return Err(answer.invalid("the first choice has no message")),
    };
    let logprobs = choice.get_mut("logprobs").and_then(|logprobs| logprobs.get_mut("content")).map(Value::take);
    if let Some(error) = choice.as_object().and_then(ProviderError::in_answer) {
        return Err(answer.reported(error));
    }
    let id = completion.get("id").and_then(Value::as_str);
    let output = items(message, logprobs, id).map_err(|what| answer.invalid(what))?;
    let (output, incomplete) = stop_reason::conclude(answer, output, reason.as_deref())?;
    let usage = completion.get("usage").filter(|usage| !usage.is_null());
    Ok(ModelResponse {
        output,
        usage: USAGE.read(usage),
        response_id: None,
        request_id: answer.request_id(),
        incomplete,
        raw_usage: usage.filter(|_| keep_raw_usage).cloned(),
    })
}

/// Returns the items that an assistant message represents: its content, then its calls.
///
/// Members that only the server understands are stored with the text; without text they become a
/// reasoning item.
fn items(
    mut message: Map<String, Value>,
    logprobs: Option<Value>,
    id: Option<&str>,
) -> Result<Vec<Item>, &'static str> {
    let mut take = |name| message.shift_remove(name).filter(|value: &Value| !value.is_null());
    take("role");
    let (content, refusal, annotations) = (take("content"), take("refusal"), take("annotations"));
    let calls = match take("tool_calls") {
        Some(Value::Array(calls)) => calls,
        Some(_) => return Err("the tool calls are not a list"),
        None => Vec::new(),
    };
    message.retain(|_, value| !value.is_null());

    let parts = parts(content, refusal, annotations, logprobs, calls.is_empty())?;
    let mut item = Map::new();
    if !parts.is_empty() {
        item = members(json!({"type": "message", "role": "assistant", "content": parts}));
    } else if !message.is_empty() {
        item = members(json!({"type": "reasoning", "summary": []}));
    }
    set(&mut item, PROVIDER_DATA, (!message.is_empty()).then_some(message));
    let said = (!item.is_empty()).then_some(Ok(Item::from(item)));
    let called = calls.into_iter().enumerate().map(|(index, call)| function_call(call, index, id));
    said.into_iter().chain(called).collect()
}

/// Returns the parts of the content. Empty text is a part only if there is nothing else.
fn parts(
    content: Option<Value>,
    refusal: Option<Value>,
    annotations: Option<Value>,
    logprobs: Option<Value>,
    nothing_else: bool,
) -> Result<Vec<Value>, &'static str> {
    let mut annotations = annotations.filter(Value::is_array).unwrap_or_else(|| json!([]));
    let mut logprobs = logprobs.filter(Value::is_array).unwrap_or_else(|| json!([]));
    let mut output_text = |text: Value| {
        let (annotations, logprobs) = (annotations.take(), logprobs.take());
        let or_none = |list: Value| if list.is_null() { json!([]) } else { list };
        json!({
            "type": "output_text",
            "text": text,
            "annotations": or_none(annotations),
            "logprobs": or_none(logprobs),
        })
    };
    let mut parts = match content {
        None => Vec::new(),
        Some(Value::String(text)) if text.is_empty() && !(nothing_else && refusal.is_none()) => Vec::new(),
        Some(Value::String(text)) => vec![output_text(text.into())],
        Some(Value::Array(parts)) => parts
            .into_iter()
            .map(|mut part| if part["type"] == "text" { output_text(part["text"].take()) } else { part })
            .collect(),
        Some(_) => return Err("the content of the message is neither text nor parts"),
    };
    parts.extend(refusal.map(|refusal| json!({"type": "refusal", "refusal": refusal})));
    Ok(parts)
}

/// Converts a tool call to an item; a call of another kind than a function remains unchanged.
fn function_call(call: Value, index: usize, completion: Option<&str>) -> Result<Item, &'static str> {
    let Value::Object(mut call) = call else { return Err("a tool call is not an object") };
    let Some(Value::Object(mut function)) = call.shift_remove("function") else { return Ok(call.into()) };
    let id = match (call.shift_remove("id"), completion) {
        (Some(Value::String(id)), _) if !id.is_empty() => id,
        // Some servers send no id, but the output of the tool must refer to one.
        (_, Some(completion)) if !completion.is_empty() => format!("{completion}_{index}"),
        _ => String::new(),
    };
    let name = function.shift_remove("name").filter(Value::is_string).ok_or("a tool call has no name")?;
    let arguments = match function.shift_remove("arguments") {
        Some(Value::String(arguments)) => arguments,
        Some(Value::Null) | None => String::new(),
        Some(arguments) => arguments.to_string(),
    };
    for known in ["type", "index"] {
        call.shift_remove(known);
    }
    call.retain(|_, value| !value.is_null());
    let mut item = members(json!({"type": "function_call", "call_id": id, "name": name, "arguments": arguments}));
    set(&mut item, PROVIDER_DATA, (!call.is_empty()).then_some(call));
    Ok(item.into())
}

fn members(object: Value) -> Map<String, Value> {
    match object {
        Value::Object(members) => members,
        _ => unreachable!("callers pass an object literal"),
    }
}
