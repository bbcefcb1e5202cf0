//! From a message of the API to a model response.

use serde_json::{Map, Value, json};
use temporal_agents_core::wire::{InputTokensDetails, Item, ModelResponse, OutputTokensDetails, Usage};

use super::thoughts;
use crate::provider::{ModelError, answer_items::assistant_message, http::answer::Answer, stop_reason};

/// Returns the model response of an answer. It has no response id, because no later call can refer
/// to it by one.
///
/// # Errors
/// The failure that the answer represents, if it is not a message.
pub(crate) fn project(adapter: &str, answer: &Answer, keep_raw_usage: bool) -> Result<ModelResponse, ModelError> {
    let mut message = answer.object().map_err(|error| answer.with_type(error))?;
    let Some(Value::Array(blocks)) = message.shift_remove("content") else {
        return Err(answer.invalid("the answer is not a model response"));
    };
    let mut items = Items { adapter, ..Items::default() };
    for block in blocks {
        items.add(block).map_err(|what| answer.invalid(what))?;
    }
    let reason = message.get("stop_reason").and_then(Value::as_str);
    let (output, incomplete) = stop_reason::conclude(answer, items.end(), reason)?;
    let raw_usage = message.get("usage").filter(|usage| !usage.is_null());
    Ok(ModelResponse {
        output,
        usage: usage(raw_usage.unwrap_or(&Value::Null)),
        response_id: None,
        request_id: answer.request_id(),
        incomplete,
        raw_usage: raw_usage.filter(|_| keep_raw_usage).cloned(),
    })
}

/// The items of a response, in its order. Consecutive texts are one message, and consecutive blocks
/// that are neither text nor a call one item.
#[derive(Default)]
struct Items<'a> {
    adapter: &'a str,
    done: Vec<Item>,
    texts: Vec<Value>,
    thoughts: Vec<Map<String, Value>>,
}

impl Items<'_> {
    fn add(&mut self, block: Value) -> Result<(), &'static str> {
        let Value::Object(block) = block else { return Err("a block of the answer is not an object") };
        match block.get("type").and_then(Value::as_str) {
            Some("text") => {
                let text = block.get("text").and_then(Value::as_str).unwrap_or_default();
                if !text.is_empty() {
                    self.end_thoughts();
                    self.texts.push(json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []}));
                }
            }
            Some("tool_use") => {
                self.end_thoughts();
                self.end_texts();
                self.done.push(call_item(block)?);
            }
            _ => {
                self.end_texts();
                self.thoughts.push(block);
            }
        }
        Ok(())
    }

    fn end(mut self) -> Vec<Item> {
        self.end_thoughts();
        self.end_texts();
        self.done
    }

    fn end_texts(&mut self) {
        if !self.texts.is_empty() {
            self.done.push(assistant_message(std::mem::take(&mut self.texts)));
        }
    }

    fn end_thoughts(&mut self) {
        if !self.thoughts.is_empty() {
            self.done.push(thoughts::item(self.adapter, std::mem::take(&mut self.thoughts)));
        }
    }
}

/// Converts a call. An input that is not JSON is kept as it came: the run tells the model so.
fn call_item(mut block: Map<String, Value>) -> Result<Item, &'static str> {
    let text = |value: Option<Value>| match value {
        Some(Value::String(text)) if !text.is_empty() => Some(text),
        _ => None,
    };
    let id = text(block.shift_remove("id")).unwrap_or_default();
    let name = text(block.shift_remove("name")).ok_or("a tool call has no name")?;
    let arguments = match block.shift_remove("input") {
        None | Some(Value::Null) => "{}".to_owned(),
        Some(Value::String(text)) => text,
        Some(input) => input.to_string(),
    };
    Ok(Item::function_call(id, name, arguments))
}

/// Returns the counts, with the tokens of the cache among the input, where the API does not count
/// them.
fn usage(usage: &Value) -> Usage {
    let count = |name: &str| usage[name].as_u64().unwrap_or_default();
    let (written, read) = (count("cache_creation_input_tokens"), count("cache_read_input_tokens"));
    let input_tokens = count("input_tokens").saturating_add(written).saturating_add(read);
    let output_tokens = count("output_tokens");
    Usage {
        requests: 1,
        input_tokens,
        input_tokens_details: InputTokensDetails { cached_tokens: read, cache_write_tokens: written },
        output_tokens,
        output_tokens_details: OutputTokensDetails {
            reasoning_tokens: usage["output_tokens_details"]["thinking_tokens"].as_u64().unwrap_or_default(),
        },
        total_tokens: input_tokens.saturating_add(output_tokens),
        ..Usage::default()
    }
}
