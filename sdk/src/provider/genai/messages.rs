//! From the items of a conversation to the crate's messages.
//!
//! One assistant message contains the thoughts, texts and calls of a model together, while items
//! contain them one after another; so they are collected until another kind of item follows. The
//! results of one round of tools are also one message, if the API requires them side by side.

use ::genai::chat::{ChatMessage, ContentPart, MessageContent, ToolCall};
use serde_json::Value;

use super::{
    content,
    dialect::{Dialect, Shape},
    results, thoughts,
};
use crate::provider::{ModelError, function_shape::arguments_object, http::outgoing::unsupported};
use temporal_agents_core::wire::{FunctionCall, Item, ItemView};

/// Returns the messages of a conversation.
///
/// # Errors
/// An item or a part of one that the adapter cannot carry; the error names its kind.
pub(super) fn project(dialect: &Dialect, input: &[Item]) -> Result<Vec<ChatMessage>, ModelError> {
    let mut messages = Messages { dialect, done: Vec::new(), assistant: Vec::new(), results: Vec::new() };
    for item in input {
        messages.add(item)?;
    }
    messages.end_assistant();
    messages.end_results();
    Ok(messages.done)
}

struct Messages<'d> {
    dialect: &'d Dialect,
    done: Vec<ChatMessage>,
    /// The assistant message that is being collected.
    assistant: Vec<ContentPart>,
    /// The tool results that are being collected.
    results: Vec<ContentPart>,
}

impl Messages<'_> {
    fn add(&mut self, item: &Item) -> Result<(), ModelError> {
        let dialect = self.dialect;
        match item.view() {
            ItemView::Message { role: "assistant", content } => {
                self.end_results();
                self.assistant.extend(content::assistant(dialect, content)?);
            }
            // Other calls of an earlier provider are told as calls of functions.
            ItemView::FunctionCall(call) | ItemView::NativeCall { call, .. } => {
                self.end_results();
                self.assistant.push(ContentPart::ToolCall(tool_call(&call)));
            }
            ItemView::Reasoning => self.think(thoughts::parts(&dialect.adapter, item)),
            ItemView::FunctionCallOutput { call_id, output } => {
                self.result(results::part(dialect, item, call_id, output)?);
            }
            ItemView::NativeCallOutput { call_id, output } => {
                let text = output.as_str().map_or_else(|| output.to_string(), str::to_owned);
                self.result(results::part(dialect, item, call_id, &Value::String(text))?);
            }
            ItemView::Message { role, content } => {
                let is_user = role == "user";
                let content = MessageContent::from_parts(content::input(dialect, content)?);
                self.end_assistant();
                self.end_results();
                self.done.push(if is_user { ChatMessage::user(content) } else { ChatMessage::system(content) });
            }
            ItemView::HostedCall { kind } | ItemView::Other { kind } => {
                return Err(unsupported(format_args!(
                    "{} (through genai) has no input items of kind `{kind}`",
                    dialect.adapter
                )));
            }
        }
        Ok(())
    }

    /// Adds the result of a call.
    fn result(&mut self, part: ContentPart) {
        self.end_assistant();
        self.results.push(part);
        if !self.dialect.joins_tool_results() {
            self.end_results();
        }
    }

    /// Adds thoughts. Claude on Vertex requires thinking in its original position, but the crate
    /// moves it to the start of a message. So thoughts after anything else start a message of their
    /// own, which the API joins to the one before.
    fn think(&mut self, parts: Vec<ContentPart>) {
        let is_thought = |part: &ContentPart| {
            matches!(part, ContentPart::ThoughtSignature(_) | ContentPart::ReasoningContent(_) | ContentPart::Custom(_))
        };
        if parts.is_empty() {
            return;
        }
        self.end_results();
        if self.dialect.shape == Shape::Anthropic && !self.assistant.iter().all(is_thought) {
            self.end_assistant();
        }
        self.assistant.extend(parts);
    }

    fn end_assistant(&mut self) {
        let mut parts = std::mem::take(&mut self.assistant);
        // Unsigned thoughts are sent back only beside the calls that they led to: some APIs refuse
        // them elsewhere.
        let is_signed = parts.iter().any(|part| matches!(part, ContentPart::ThoughtSignature(_)));
        if !is_signed && !parts.iter().any(ContentPart::is_tool_call) {
            parts.retain(|part| !part.is_reasoning_content());
        }
        if !parts.is_empty() {
            self.done.push(ChatMessage::assistant(MessageContent::from_parts(parts)));
        }
    }

    fn end_results(&mut self) {
        let results = std::mem::take(&mut self.results);
        if !results.is_empty() {
            self.done.push(ChatMessage::tool(MessageContent::from_parts(results)));
        }
    }
}

/// Converts a function call. Most APIs require arguments to be an object, but a model may have
/// written anything.
fn tool_call(call: &FunctionCall<'_>) -> ToolCall {
    ToolCall {
        call_id: call.call_id.to_owned(),
        fn_name: call.name.to_owned(),
        fn_arguments: Value::Object(arguments_object(&call.arguments)),
        thought_signatures: None,
    }
}
