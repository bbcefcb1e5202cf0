//! From the items of a conversation to messages.
//!
//! One assistant message contains the thoughts, texts and calls of a model together, while items
//! contain them one after another; so they are collected, in their order, until another kind of
//! item follows. The results of one round of tools are one message of the user.

use serde_json::{Value, json};
use temporal_agents_core::wire::{FunctionCall, Item, ItemView};

use super::{content, thoughts};
use crate::provider::{ModelError, function_shape::arguments_object, http::outgoing::unsupported};

/// A conversation, as the API takes it.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    /// What the system says: the API has one place for it, before all messages.
    pub(super) system: Vec<String>,
    pub(super) messages: Vec<Value>,
}

impl Conversation {
    /// Returns the conversation with these instructions and items.
    ///
    /// # Errors
    /// An item or a part of one that the API cannot carry; the error names its kind.
    pub(super) fn from_items(adapter: &str, instructions: Option<String>, input: &[Item]) -> Result<Self, ModelError> {
        let done = Self { system: instructions.into_iter().collect(), messages: Vec::new() };
        let mut messages = Messages { adapter, done, assistant: Vec::new(), results: Vec::new() };
        for item in input {
            messages.add(item)?;
        }
        messages.end_assistant();
        messages.end_results();
        Ok(messages.done)
    }
}

struct Messages<'a> {
    adapter: &'a str,
    done: Conversation,
    /// The blocks of the assistant message that is being collected.
    assistant: Vec<Value>,
    /// The tool results that are being collected.
    results: Vec<Value>,
}

impl Messages<'_> {
    fn add(&mut self, item: &Item) -> Result<(), ModelError> {
        let adapter = self.adapter;
        match item.view() {
            ItemView::Message { role: "assistant", content } => self.say(content::assistant_blocks(adapter, content)?),
            // Other calls of an earlier provider are told as calls of functions.
            ItemView::FunctionCall(call) | ItemView::NativeCall { call, .. } => self.say(vec![tool_use(&call)]),
            ItemView::Reasoning => self.say(thoughts::blocks(adapter, item)),
            ItemView::FunctionCallOutput { call_id, output } => {
                self.result(content::result(adapter, item, call_id, output)?);
            }
            ItemView::NativeCallOutput { call_id, output } => {
                let text = output.as_str().map_or_else(|| output.to_string(), str::to_owned);
                self.result(content::result(adapter, item, call_id, &Value::String(text))?);
            }
            ItemView::Message { role: "user", content } => {
                let content = content::user_content(adapter, content)?;
                self.end_assistant();
                self.end_results();
                self.done.messages.push(json!({"role": "user", "content": content}));
            }
            ItemView::Message { content, .. } => self.done.system.push(content::system_text(adapter, content)?),
            ItemView::HostedCall { kind } | ItemView::Other { kind } => {
                return Err(unsupported(format_args!("{adapter} has no input items of kind `{kind}`")));
            }
        }
        Ok(())
    }

    /// Adds blocks of the model.
    fn say(&mut self, blocks: Vec<Value>) {
        if !blocks.is_empty() {
            self.end_results();
            self.assistant.extend(blocks);
        }
    }

    /// Adds the result of a call.
    fn result(&mut self, block: Value) {
        self.end_assistant();
        self.results.push(block);
    }

    fn end_assistant(&mut self) {
        let mut blocks = std::mem::take(&mut self.assistant);
        // "The final block in an assistant message cannot be `thinking`": what followed is left out.
        while blocks.last().is_some_and(is_thinking) {
            blocks.pop();
        }
        let content = match blocks.as_slice() {
            [] => return,
            [block] if block["type"] == "text" => block["text"].clone(),
            _ => blocks.into(),
        };
        self.done.messages.push(json!({"role": "assistant", "content": content}));
    }

    fn end_results(&mut self) {
        let results = std::mem::take(&mut self.results);
        if !results.is_empty() {
            self.done.messages.push(json!({"role": "user", "content": results}));
        }
    }
}

fn is_thinking(block: &Value) -> bool {
    matches!(block["type"].as_str(), Some("thinking" | "redacted_thinking"))
}

/// Converts a function call. The API requires arguments to be an object, but a model may have
/// written anything.
fn tool_use(call: &FunctionCall<'_>) -> Value {
    json!({"type": "tool_use", "id": call.call_id, "name": call.name, "input": arguments_object(&call.arguments)})
}
