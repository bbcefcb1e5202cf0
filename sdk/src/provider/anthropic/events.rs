//! The events of a streamed message, joined to the message.
//!
//! # Source
//! The API's documentation of streams: `message_start` has the message without its content,
//! `content_block_start` a block without its text, deltas add to the block of their `index`,
//! `message_delta` adds to the message, `message_stop` ends it. Types of events and of blocks may
//! be added; unknown blocks are kept as they begin.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::provider::{
    ModelDelta, ModelDeltas,
    http::{sse::Event, streaming::Reading},
};

/// The approximate number of bytes that a block takes besides its text.
const BLOCK: usize = 256;

/// The events so far.
#[derive(Debug, Default)]
pub(crate) struct MessageEvents {
    /// The message without its content.
    message: Map<String, Value>,
    blocks: BTreeMap<u64, Block>,
    items: Row,
    is_done: bool,
    kept: usize,
}

/// A block of the content.
#[derive(Debug, Default)]
struct Block {
    members: Map<String, Value>,
    /// The JSON of its input, in the parts so far.
    input: String,
    /// Position of the item that it becomes; `None` while it is empty.
    place: Option<u32>,
}

/// The items that the blocks become: neighbours of one kind are one item, a call is one by itself.
#[derive(Debug, Default)]
struct Row {
    last: Option<Kind>,
    count: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Thought,
    Call,
}

impl Row {
    /// Returns the position of the item of a block that begins now.
    fn place(&mut self, kind: Kind) -> u32 {
        if kind == Kind::Call || self.last != Some(kind) {
            self.count += 1;
            self.last = Some(kind);
        }
        self.count - 1
    }
}

impl Reading for MessageEvents {
    const USAGE_ON_REQUEST: bool = false;

    fn read(&mut self, event: &Event, deltas: &ModelDeltas) -> Result<bool, &'static str> {
        self.read_event(&event.name, &event.data, deltas)
    }

    fn kept(&self) -> usize {
        self.kept
    }

    fn body(self) -> Option<Map<String, Value>> {
        let Self { message: mut body, blocks, is_done, .. } = self;
        let has_stopped = body.get("stop_reason").is_some_and(|reason| !reason.is_null());
        if !is_done && !has_stopped {
            return None;
        }
        if !body.contains_key("error") {
            let content = blocks.into_values().map(|block| Value::Object(block.whole())).collect();
            body.insert("content".to_owned(), content);
        }
        Some(body)
    }

    fn differs(request: &Map<String, Value>) -> Option<&'static str> {
        let is_off = request.get("stream") == Some(&Value::Bool(false));
        is_off.then_some("the extra arguments set `stream` to false")
    }
}

impl MessageEvents {
    /// Reads an event, and sends the deltas in it. Returns `true` if it is the last one.
    ///
    /// # Errors
    /// Description of an event that is not one of the API.
    pub(crate) fn read_event(&mut self, name: &str, data: &str, deltas: &ModelDeltas) -> Result<bool, &'static str> {
        let Ok(Value::Object(mut event)) = serde_json::from_str(data) else {
            return Err("an event of the stream is not a JSON object");
        };
        let index = event.get("index").and_then(Value::as_u64).unwrap_or_default();
        match event.get("type").and_then(Value::as_str).unwrap_or(name) {
            "message_start" => {
                let Some(Value::Object(message)) = event.shift_remove("message") else {
                    return Err("the first event of the stream has no message");
                };
                self.kept = data.len();
                self.message = message;
            }
            "content_block_start" => {
                if let Some(Value::Object(block)) = event.shift_remove("content_block") {
                    self.kept += data.len() + BLOCK;
                    self.begin(index, block, deltas);
                }
            }
            "content_block_delta" => {
                if let Some(Value::Object(delta)) = event.shift_remove("delta") {
                    self.add(index, delta, deltas);
                }
            }
            "message_delta" => {
                if let Some(Value::Object(delta)) = event.shift_remove("delta") {
                    self.message.extend(delta);
                }
                self.add_usage(event.shift_remove("usage"));
            }
            "message_stop" => self.is_done = true,
            "error" => {
                self.message = event;
                self.is_done = true;
            }
            _ => {}
        }
        Ok(self.is_done)
    }

    fn begin(&mut self, index: u64, block: Map<String, Value>, deltas: &ModelDeltas) {
        let kind = kind(&block);
        let text = |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (text, thinking) = (text("text"), text("thinking"));
        // A text without a character becomes no item; everything else does.
        let place = (kind != Kind::Text || !text.is_empty()).then(|| self.items.place(kind));
        self.blocks.insert(index, Block { members: block, input: String::new(), place });
        let Some(index) = place else { return };
        if !text.is_empty() && kind == Kind::Text {
            deltas.send(ModelDelta::Text { index, delta: text });
        } else if !thinking.is_empty() && kind == Kind::Thought {
            deltas.send(ModelDelta::Reasoning { index, delta: thinking });
        }
    }

    fn add(&mut self, index: u64, mut delta: Map<String, Value>, deltas: &ModelDeltas) {
        let Some(block) = self.blocks.get_mut(&index) else { return };
        for name in ["text", "thinking", "signature", "partial_json"] {
            let Some(Value::String(part)) = delta.shift_remove(name).filter(|part| part != "") else { continue };
            self.kept += part.len();
            if name == "partial_json" {
                block.input.push_str(&part);
            } else {
                append(&mut block.members, name, &part);
            }
            let place = *block.place.get_or_insert_with(|| self.items.place(kind(&block.members)));
            if let Some(delta) = block.delta(name, place, part) {
                deltas.send(delta);
            }
        }
        if let Some(citation) = delta.shift_remove("citation") {
            self.kept += citation.to_string().len();
            let citations = block.members.entry("citations").or_insert_with(|| json!([]));
            match citations {
                Value::Array(citations) => citations.push(citation),
                citations => *citations = json!([citation]),
            }
        }
    }

    /// Adds counts of the usage, which replace the counts of the first event.
    fn add_usage(&mut self, usage: Option<Value>) {
        let Some(Value::Object(usage)) = usage else { return };
        let known = self.message.entry("usage").or_insert_with(|| json!({}));
        if let Value::Object(known) = known {
            known.extend(usage.into_iter().filter(|(_, count)| !count.is_null()));
        }
    }
}

impl Block {
    /// Returns the delta of a part.
    fn delta(&self, name: &str, index: u32, delta: String) -> Option<ModelDelta> {
        let text = |name| self.members.get(name).and_then(Value::as_str).map(str::to_owned);
        match (name, kind(&self.members)) {
            ("text", Kind::Text) => Some(ModelDelta::Text { index, delta }),
            ("thinking", Kind::Thought) => Some(ModelDelta::Reasoning { index, delta }),
            ("partial_json", Kind::Call) => {
                Some(ModelDelta::ToolArguments { index, call_id: text("id"), name: text("name"), delta })
            }
            _ => None,
        }
    }

    /// Returns the block with its input. One that is not JSON remains a string.
    fn whole(self) -> Map<String, Value> {
        let Self { mut members, input, .. } = self;
        if !input.is_empty() {
            let input = serde_json::from_str(&input).unwrap_or(Value::String(input));
            members.insert("input".to_owned(), input);
        }
        members
    }
}

fn kind(block: &Map<String, Value>) -> Kind {
    match block.get("type").and_then(Value::as_str) {
        Some("text") => Kind::Text,
        Some("tool_use") => Kind::Call,
        _ => Kind::Thought,
    }
}

fn append(block: &mut Map<String, Value>, name: &str, part: &str) {
    match block.get_mut(name) {
        Some(Value::String(text)) => text.push_str(part),
        _ => drop(block.insert(name.to_owned(), part.into())),
    }
}
