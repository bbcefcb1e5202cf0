//! The events of a streamed response: joined to the response, and to deltas.
//!
//! The last event (`response.completed`, `.incomplete` or `.failed`) contains the whole response,
//! so nothing is assembled from deltas. Some gateways leave items out there; the events of the
//! items have them.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::provider::{
    ModelDelta, ModelDeltas,
    http::{sse::Event, streaming::Reading},
};

/// The data of the event that ends a stream of Chat Completions. Gateways send it here also.
const DONE: &str = "[DONE]";

/// The approximate number of bytes that an item takes besides its JSON.
const ITEM: usize = 64;

/// The events so far.
#[derive(Debug, Default)]
pub(super) struct ResponseEvents {
    /// The complete items as JSON, which takes less memory than their values, by their position in
    /// the output.
    items: BTreeMap<u64, String>,
    /// Id and name of each call, by its position in the output.
    calls: BTreeMap<u64, Call>,
    /// The body, from the last event.
    body: Option<Map<String, Value>>,
    kept: usize,
}

#[derive(Clone, Debug, Default)]
struct Call {
    id: Option<String>,
    name: Option<String>,
}

impl Reading for ResponseEvents {
    const USAGE_ON_REQUEST: bool = false;

    fn read(&mut self, event: &Event, deltas: &ModelDeltas) -> Result<bool, &'static str> {
        if event.data.trim() == DONE {
            return Ok(true);
        }
        let Ok(Value::Object(mut data)) = serde_json::from_str(&event.data) else {
            return Err("an event of the stream is not a JSON object");
        };
        if deltas.wants_native() && data.contains_key("type") {
            deltas.send(ModelDelta::Native(Value::Object(data.clone())));
        }
        let kind = data.get("type").and_then(Value::as_str).unwrap_or(&event.name).to_owned();
        match kind.as_str() {
            "response.output_item.added" => self.begin(&data),
            "response.output_item.done" => self.end(&data),
            "response.completed" | "response.incomplete" | "response.failed" => {
                let Some(Value::Object(mut response)) = data.shift_remove("response") else {
                    return Err("the last event of the stream has no response");
                };
                let status = kind.trim_start_matches("response.");
                response.entry("status").or_insert_with(|| status.into());
                self.body = Some(response);
            }
            "error" => self.body = Some(failed(data)),
            "" if data.get("error").is_some_and(|error| !error.is_null()) => self.body = Some(data),
            kind => self.delta(kind, data, deltas),
        }
        Ok(self.body.is_some())
    }

    fn kept(&self) -> usize {
        self.kept
    }

    fn body(self) -> Option<Map<String, Value>> {
        let mut body = self.body?;
        let listed = body.get("output").and_then(Value::as_array).map_or(0, Vec::len);
        if listed < self.items.len() {
            let items = self.items.values().filter_map(|item| serde_json::from_str::<Value>(item).ok());
            body.insert("output".to_owned(), items.collect());
        }
        Some(body)
    }

    fn differs(request: &Map<String, Value>) -> Option<&'static str> {
        match (request.get("stream"), request.get("background")) {
            (Some(Value::Bool(false)), _) => Some("the extra arguments set `stream` to false"),
            (_, Some(Value::Bool(true))) => Some("the extra arguments request a background response"),
            _ => None,
        }
    }
}

impl ResponseEvents {
    /// Notes id and name of a call, which its deltas do not have.
    fn begin(&mut self, data: &Map<String, Value>) {
        let (Some(index), Some(item)) = (position(data), data.get("item")) else { return };
        let text = |name| item.get(name).and_then(Value::as_str).map(str::to_owned);
        let call = Call { id: text("call_id"), name: text("name") };
        self.kept += ITEM + call.id.as_ref().map_or(0, String::len) + call.name.as_ref().map_or(0, String::len);
        self.calls.insert(index, call);
    }

    /// Keeps a complete item. One without a position is the next.
    fn end(&mut self, data: &Map<String, Value>) {
        let next = self.items.last_key_value().map_or(0, |(last, _)| last + 1);
        let index = position(data).unwrap_or(next);
        if let Some(item) = data.get("item") {
            let item = item.to_string();
            self.kept += item.len() + ITEM;
            self.items.insert(index, item);
        }
    }

    /// Sends the delta of an event, if it is one.
    fn delta(&self, kind: &str, mut data: Map<String, Value>, deltas: &ModelDeltas) {
        let index = position(&data);
        let Some(Value::String(delta)) = data.shift_remove("delta") else { return };
        let Some(index) = index.filter(|_| !delta.is_empty()) else { return };
        let Ok(place) = u32::try_from(index) else { return };
        deltas.send(match kind {
            "response.output_text.delta" => ModelDelta::Text { index: place, delta },
            "response.refusal.delta" => ModelDelta::Refusal { index: place, delta },
            "response.reasoning_text.delta" | "response.reasoning_summary_text.delta" => {
                ModelDelta::Reasoning { index: place, delta }
            }
            "response.function_call_arguments.delta"
            | "response.custom_tool_call_input.delta"
            | "response.mcp_call_arguments.delta" => {
                let Call { id, name } = self.calls.get(&index).cloned().unwrap_or_default();
                ModelDelta::ToolArguments { index: place, call_id: id, name, delta }
            }
            _ => return,
        });
    }
}

fn position(data: &Map<String, Value>) -> Option<u64> {
    data.get("output_index").and_then(Value::as_u64)
}

/// Returns the body of a failure that an event of the type `error` reports: OpenAI's has `code` and
/// `message` itself, that of others an object `error`.
fn failed(mut data: Map<String, Value>) -> Map<String, Value> {
    if data.get("error").is_none_or(Value::is_null) {
        data.shift_remove("error");
        data.shift_remove("type");
        data = Map::from_iter([("error".to_owned(), Value::Object(data))]);
    }
    data
}

#[cfg(test)]
mod tests;
