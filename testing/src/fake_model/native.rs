//! The events of OpenAI's Responses API for a scripted answer, for a receiver that wants them.
//!
//! The sequence and the members are those of the API: `response.created`, for each item its
//! beginning, its parts and its end, and `response.completed`.

use std::time::SystemTime;

use serde_json::{Value, json};
use temporal_agents::{
    provider::{ModelDelta, ModelDeltas},
    wire::{Item, ModelResponse},
};

/// The stream of one answer.
pub(super) struct NativeEvents<'d> {
    deltas: &'d ModelDeltas,
    response: Value,
    sequence_number: u64,
}

impl<'d> NativeEvents<'d> {
    /// Sends the beginning of an answer; `None` if the receiver does not want the events.
    pub(super) fn begin(response: &ModelResponse, deltas: &'d ModelDeltas) -> Option<Self> {
        if !deltas.wants_native() {
            return None;
        }
        let created_at = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        let response = json!({
            "id": response.response_id.as_deref().unwrap_or("resp_scripted"), "object": "response",
            "created_at": created_at, "status": "in_progress", "model": "scripted", "output": [],
            "parallel_tool_calls": true, "tool_choice": "auto", "tools": [], "error": null,
            "incomplete_details": null, "instructions": null, "metadata": {}, "temperature": null, "top_p": null,
        });
        let mut events = Self { deltas, response, sequence_number: 0 };
        for kind in ["response.created", "response.in_progress"] {
            let response = events.response.clone();
            events.send(kind, json!({"response": response}));
        }
        Some(events)
    }

    /// Sends the beginning of an item.
    pub(super) fn item_begins(&mut self, index: u32, item: &Item) {
        let mut begun = whole(index, item);
        begun["status"] = json!("in_progress");
        match item.kind() {
            "message" => begun["content"] = json!([]),
            "function_call" => begun["arguments"] = json!(""),
            "reasoning" => begun["summary"] = json!([]),
            _ => {}
        }
        self.send("response.output_item.added", json!({"output_index": index, "item": begun}));
        if item.kind() == "message" {
            let part = json!({"type": "output_text", "text": "", "annotations": [], "logprobs": []});
            self.part("response.content_part.added", index, item, json!({"part": part}));
        }
    }

    /// Sends a part of an item.
    pub(super) fn delta(&mut self, item: &Item, delta: &ModelDelta) {
        match delta {
            ModelDelta::Text { index, delta } => {
                self.part("response.output_text.delta", *index, item, json!({"delta": delta, "logprobs": []}));
            }
            ModelDelta::Refusal { index, delta } => {
                self.part("response.refusal.delta", *index, item, json!({"delta": delta}));
            }
            ModelDelta::Reasoning { index, delta } => {
                let (id, kind) = (id(*index, item), "response.reasoning_summary_text.delta");
                self.send(kind, json!({"item_id": id, "output_index": index, "summary_index": 0, "delta": delta}));
            }
            ModelDelta::ToolArguments { index, delta, .. } => {
                let (id, kind) = (id(*index, item), "response.function_call_arguments.delta");
                self.send(kind, json!({"item_id": id, "output_index": index, "delta": delta}));
            }
            _ => {}
        }
    }

    /// Sends the end of an item.
    pub(super) fn item_ends(&mut self, index: u32, item: &Item) {
        let whole = whole(index, item);
        match item.kind() {
            "message" => {
                let part = whole["content"][0].clone();
                if part["type"] == "output_text" {
                    let text = part["text"].clone();
                    self.part("response.output_text.done", index, item, json!({"text": text, "logprobs": []}));
                }
                self.part("response.content_part.done", index, item, json!({"part": part}));
            }
            "function_call" => {
                let (id, name, arguments) = (id(index, item), whole["name"].clone(), whole["arguments"].clone());
                let done = json!({"item_id": id, "output_index": index, "name": name, "arguments": arguments});
                self.send("response.function_call_arguments.done", done);
            }
            _ => {}
        }
        if let Some(output) = self.response["output"].as_array_mut() {
            output.push(whole.clone());
        }
        self.send("response.output_item.done", json!({"output_index": index, "item": whole}));
    }

    /// Sends the end of the answer.
    pub(super) fn end(mut self, response: &ModelResponse) {
        let usage = &response.usage;
        self.response["status"] = json!("completed");
        self.response["usage"] = json!({
            "input_tokens": usage.input_tokens, "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": usage.output_tokens, "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": usage.input_tokens + usage.output_tokens,
        });
        let response = self.response.take();
        self.send("response.completed", json!({"response": response}));
    }

    fn part(&mut self, kind: &str, index: u32, item: &Item, members: Value) {
        let mut event = json!({"item_id": id(index, item), "output_index": index, "content_index": 0});
        if let (Some(event), Value::Object(members)) = (event.as_object_mut(), members) {
            event.extend(members);
        }
        self.send(kind, event);
    }

    fn send(&mut self, kind: &str, mut event: Value) {
        event["type"] = json!(kind);
        event["sequence_number"] = json!(self.sequence_number);
        self.sequence_number += 1;
        self.deltas.send(ModelDelta::Native(event));
    }
}

/// Returns the id of an item; one that the script did not give gets its position.
fn id(index: u32, item: &Item) -> String {
    item.get("id").and_then(Value::as_str).map_or_else(|| format!("item_{index}"), str::to_owned)
}

/// Returns an item with the members that the API always sends.
fn whole(index: u32, item: &Item) -> Value {
    let mut value = serde_json::to_value(item).unwrap_or_default();
    value["id"] = json!(id(index, item));
    value["status"] = json!("completed");
    if let Some(parts) = value.get_mut("content").and_then(Value::as_array_mut) {
        for part in parts.iter_mut().filter(|part| part["type"] == "output_text") {
            for list in ["annotations", "logprobs"] {
                if part.get(list).is_none() {
                    part[list] = json!([]);
                }
            }
        }
    }
    value
}
