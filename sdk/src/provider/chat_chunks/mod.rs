//! The chunks of a streamed chat completion, joined to the body that the same answer has without
//! streaming.
//!
//! A chunk is `{"choices": [{"index": 0, "delta": {..}}]}`, with members of the message in `delta`;
//! the usage is in the last chunks. What the servers that imitate the API do otherwise is accepted
//! where it has one meaning: chunks of other choices, calls without an index, calls that all have
//! the index 0, ids that change, names that are repeated, null members, a message in place of a
//! delta, no `[DONE]` at the end.
//!
//! | file | contents |
//! |---|---|
//! | `merge` | a part of a JSON value added to it |
//! | `calls` | the tool calls, from parts that belong to one of them |
//! | `places` | the positions of the items that deltas become |
//!
//! # Source
//! The rules of `accumulate_delta` in OpenAI's Python library: strings are joined, lists of objects
//! by their `index`, `index` and `type` replaced.

mod calls;
mod merge;
mod places;

use serde_json::{Map, Value, json};

pub(crate) use self::places::Layout;
use self::{
    calls::Calls,
    merge::{count, merge_content, merge_member, size},
    places::{Group, Places},
};
use super::{ModelDelta, ModelDeltas};

/// The data of the event that ends a stream.
const DONE: &str = "[DONE]";

/// The approximate number of bytes that a call takes besides its members.
const CALL: usize = 1024;
/// The approximate number of bytes that a part of a call may take besides its members.
const PART: usize = 64;
/// The number of values in a usual part of a call, which become one or none: index, id, type,
/// function, name and arguments.
const USUAL_VALUES: usize = 6;

/// The chunks so far.
#[derive(Debug)]
pub(crate) struct ChatChunks {
    /// The members of the completion other than its choices.
    completion: Map<String, Value>,
    /// The members of the first choice other than its message; none before the first chunk of it.
    choice: Option<Map<String, Value>>,
    /// The members of the message other than its calls.
    message: Map<String, Value>,
    calls: Calls,
    places: Places,
    /// `true` after `[DONE]`.
    is_done: bool,
    /// Approximate number of bytes that are kept.
    kept: usize,
}

impl ChatChunks {
    /// Creates the reading of a stream; `layout` is that of the items that the message becomes.
    pub(crate) fn new(layout: Layout) -> Self {
        Self {
            completion: Map::new(),
            choice: None,
            message: Map::new(),
            calls: Calls::default(),
            places: Places::new(layout),
            is_done: false,
            kept: 0,
        }
    }

    /// Reads an event, and sends the deltas in it. Returns `true` if it is the last one: the end,
    /// or an error, which is then the body.
    ///
    /// # Errors
    /// Description of an event that is not a chunk.
    pub(crate) fn read(&mut self, name: &str, data: &str, deltas: &ModelDeltas) -> Result<bool, &'static str> {
        if data.trim() == DONE {
            self.is_done = true;
            return Ok(true);
        }
        let Ok(Value::Object(mut chunk)) = serde_json::from_str(data) else {
            return Err("an event of the stream is not a JSON object");
        };
        if let Some(error) = reported(name, &mut chunk) {
            self.completion.insert("error".to_owned(), error);
            self.is_done = true;
            return Ok(true);
        }
        if let Some(Value::Array(choices)) = chunk.shift_remove("choices") {
            let first = choices.into_iter().find(|choice| choice["index"].as_u64().unwrap_or_default() == 0);
            if let Some(Value::Object(choice)) = first {
                self.add_choice(choice, deltas);
            }
        }
        self.add_completion(chunk);
        Ok(false)
    }

    /// Returns the approximate number of bytes that are kept.
    pub(crate) fn kept(&self) -> usize {
        self.kept
    }

    /// Returns the body of the completion; `None` if the stream ended before it: neither `[DONE]`
    /// nor a reason to finish arrived.
    pub(crate) fn body(self) -> Option<Map<String, Value>> {
        let Self { completion: mut body, choice, mut message, calls, is_done, .. } = self;
        let is_finished = choice.as_ref().is_some_and(|choice| choice.contains_key("finish_reason"));
        if !is_done && !is_finished {
            return None;
        }
        if let Some(mut choice) = choice {
            if let Some(calls) = calls.into_value() {
                message.insert("tool_calls".to_owned(), calls);
            }
            choice.insert("index".to_owned(), json!(0));
            choice.insert("message".to_owned(), Value::Object(message));
            body.insert("choices".to_owned(), json!([choice]));
        }
        Some(body)
    }

    /// Adds the members of a chunk other than its choices. The last usage counts, and the first id:
    /// some servers leave the id of the first chunks empty.
    fn add_completion(&mut self, chunk: Map<String, Value>) {
        for (name, value) in chunk {
            let is_kept = name == "id" && self.completion.get("id").is_some_and(|id| id.as_str() != Some(""));
            if !value.is_null() && !is_kept {
                replace(&mut self.completion, name, value, &mut self.kept);
            }
        }
    }

    fn add_choice(&mut self, mut choice: Map<String, Value>, deltas: &ModelDeltas) {
        let delta = choice.shift_remove("delta");
        let whole = choice.shift_remove("message");
        let known = self.choice.get_or_insert_default();
        // Some servers have an empty reason to finish in each chunk before the last one.
        let is_unset = |name: &str, value: &Value| value.is_null() || (name == "finish_reason" && value == "");
        for (name, value) in choice.into_iter().filter(|(name, value)| !is_unset(name, value)) {
            if name == "logprobs" {
                self.kept += merge_member(known, name, value);
            } else {
                replace(known, name, value, &mut self.kept);
            }
        }
        match (delta, whole) {
            (Some(Value::Object(delta)), _) => self.add_delta(delta, deltas),
            // A server that sends a whole completion as the only event of a stream.
            (_, Some(Value::Object(message))) if self.message.is_empty() => self.add_delta(message, deltas),
            _ => {}
        }
    }

    /// Adds a part of the message. The calls are last, so that the positions of their deltas take
    /// the other members of the same chunk into account.
    fn add_delta(&mut self, mut delta: Map<String, Value>, deltas: &ModelDeltas) {
        let calls = delta.shift_remove("tool_calls");
        let texts = Texts::of(&delta);
        for (name, value) in delta {
            let is_empty = value.as_str() == Some("") && name != "content";
            if name == "content" && !value.is_null() {
                self.kept += merge_content(self.message.entry(name).or_insert(Value::Null), value);
            } else if !is_empty {
                self.kept += merge_member(&mut self.message, name, value);
            }
        }
        self.places.update(&self.message);
        self.send(texts, deltas);
        if let Some(Value::Array(calls)) = calls {
            for call in calls {
                self.add_call(call, deltas);
            }
        }
    }

    fn add_call(&mut self, call: Value, deltas: &ModelDeltas) {
        let Value::Object(call) = call else { return };
        self.kept += overhead(&call) + call.iter().map(|(name, value)| name.len() + size(value)).sum::<usize>();
        let calls = self.calls.len();
        let part = self.calls.add(call);
        if self.calls.len() > calls {
            self.kept += CALL;
        }
        let first = self.places.place(Group::Calls);
        let (Some(first), Some(number)) = (first, part.number) else { return };
        if !part.delta.is_empty() {
            let index = first.saturating_add(number);
            deltas.send(ModelDelta::ToolArguments { index, call_id: part.id, name: part.name, delta: part.delta });
        }
    }

    fn send(&mut self, texts: Texts, deltas: &ModelDeltas) {
        let Texts { reasoning, content, refusal } = texts;
        if let Some((index, delta)) = self.places.text(Group::Reasoning, reasoning) {
            deltas.send(ModelDelta::Reasoning { index, delta });
        }
        if let Some((index, delta)) = self.places.text(Group::Message, content) {
            deltas.send(ModelDelta::Text { index, delta });
        }
        if let Some((index, delta)) = self.places.text(Group::Refusal, refusal) {
            deltas.send(ModelDelta::Refusal { index, delta });
        }
    }
}

/// Returns the approximate number of bytes that a part of a call may take besides its members.
fn overhead(part: &Map<String, Value>) -> usize {
    let values = part.values().map(count).sum::<usize>();
    PART * (1 + values.saturating_sub(USUAL_VALUES))
}

/// Sets a member, and adds its approximate number of bytes to those that are kept.
fn replace(object: &mut Map<String, Value>, name: String, value: Value, kept: &mut usize) {
    let (added, name_len) = (size(&value), name.len());
    let removed = object.insert(name, value).map(|before| size(&before) + name_len);
    *kept = (*kept + added + name_len).saturating_sub(removed.unwrap_or_default());
}

/// Returns the reason that the chunks of an answer to a request may not be joined to the whole one.
pub(crate) fn differs(request: &Map<String, Value>) -> Option<&'static str> {
    let member = |name| request.get(name).filter(|value| !value.is_null());
    let usage = member("stream_options").and_then(|options| options.get("include_usage"));
    if member("stream") == Some(&Value::Bool(false)) {
        Some("the extra arguments set `stream` to false")
    } else if usage.is_some_and(|usage| *usage != Value::Bool(true)) {
        Some("the extra arguments leave the usage out of streams")
    } else if member("n").and_then(Value::as_u64).is_some_and(|n| n > 1) {
        Some("the extra arguments request several choices")
    } else {
        member("audio").map(|_| "the extra arguments request audio")
    }
}

/// The text in a part of a message.
#[derive(Debug, Default)]
struct Texts {
    reasoning: String,
    content: String,
    refusal: String,
}

impl Texts {
    fn of(delta: &Map<String, Value>) -> Self {
        let text = |name| delta.get(name).and_then(Value::as_str).unwrap_or_default();
        // Servers that have both names send the same text under both.
        let reasoning = ["reasoning_content", "reasoning"].map(text).into_iter().find(|text| !text.is_empty());
        let mut texts = Self {
            reasoning: reasoning.unwrap_or_default().to_owned(),
            content: text("content").to_owned(),
            refusal: text("refusal").to_owned(),
        };
        // Mistral's content is a list of parts where the model reasons.
        for part in delta.get("content").and_then(Value::as_array).into_iter().flatten() {
            match part["type"].as_str() {
                Some("text") => texts.content.push_str(part["text"].as_str().unwrap_or_default()),
                Some("thinking") => {
                    let thoughts = part["thinking"].as_array().into_iter().flatten();
                    texts.reasoning.extend(thoughts.filter_map(|thought| thought["text"].as_str()));
                }
                _ => {}
            }
        }
        texts
    }
}

/// Returns the error that a chunk reports: in its member `error`, or the whole data of an event of
/// the name `error`.
fn reported(name: &str, chunk: &mut Map<String, Value>) -> Option<Value> {
    let error = chunk.shift_remove("error").filter(|error| !error.is_null());
    error.or_else(|| (name == "error").then(|| Value::Object(std::mem::take(chunk))))
}

#[cfg(test)]
mod tests;
