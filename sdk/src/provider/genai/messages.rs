//! From the items of a conversation to the crate's messages.
//!
//! One assistant message holds what the model thought, said and called in one go, which items say one after another; so
//! they are gathered until something else comes. The results of one round of tools are one message as well where the API
//! wants them side by side.

use ::genai::chat::{ChatMessage, ContentPart, MessageContent, ToolCall};
use serde_json::{Map, Value, json};

use super::{
    content,
    dialect::{Dialect, Shape},
    results, thoughts,
};
use crate::{
    provider::{ModelError, http::outgoing::unsupported},
    wire::{FunctionCall, Item, ItemView},
};

/// The member of a tool use whose arguments are no JSON object; Anthropic's own convention for it.
const NOT_JSON: &str = "INVALID_JSON";

/// The messages of a conversation.
///
/// # Errors
/// An item or a part of one that the adapter cannot carry, by its kind.
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
    /// The assistant message that is being gathered.
    assistant: Vec<ContentPart>,
    /// The tool results that are being gathered.
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
            ItemView::FunctionCall(call) => {
                self.end_results();
                self.assistant.push(ContentPart::ToolCall(tool_call(&call)));
            }
            ItemView::Reasoning => self.think(thoughts::parts(&dialect.adapter, item)),
            ItemView::FunctionCallOutput { call_id, output } => {
                self.end_assistant();
                self.results.push(results::part(dialect, item, call_id, output)?);
                if !dialect.takes_results_together() {
                    self.end_results();
                }
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

    /// Anthropic wants thinking where it was; the crate moves it to the start of a message. So after anything else it begins
    /// a message of its own, which the API joins to the one before.
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
        // Unsigned thoughts go back beside the calls they led to, and nowhere else: some APIs refuse them there.
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

/// A function call. Arguments are an object in most APIs, while a model may have written anything.
fn tool_call(call: &FunctionCall<'_>) -> ToolCall {
    let arguments = call.arguments.trim();
    let arguments = match serde_json::from_str(arguments) {
        Ok(Value::Object(arguments)) => arguments,
        _ if arguments.is_empty() => Map::new(),
        _ => Map::from_iter([(NOT_JSON.to_owned(), json!(call.arguments))]),
    };
    ToolCall {
        call_id: call.call_id.to_owned(),
        fn_name: call.name.to_owned(),
        fn_arguments: Value::Object(arguments),
        thought_signatures: None,
    }
}
