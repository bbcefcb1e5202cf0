//! The messages of a conversation, in the structure that both dialects have.
//!
//! Items contain the texts and calls of a response one after another, and outputs after them; a
//! message contains all texts and calls of a response, and providers refuse one whose calls do not
//! have their results directly after it. Each call is therefore kept together with its output, and
//! one without an output is left out.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use serde_json::Value;
use temporal_agents_core::wire::{FunctionCall, Item, ItemView};

/// A message of a conversation.
pub(super) enum Message<'i> {
    /// A message to the model.
    Input { role: &'i str, parts: Vec<Part<'i>> },
    /// A response of the model, and the outputs of its calls.
    Response { parts: Vec<ResponsePart<'i>>, outputs: Vec<Output<'i>> },
}

/// A part of a message to the model, or of a tool's output.
pub(super) enum Part<'i> {
    Text(Cow<'i, str>),
    Image { url: &'i str, detail: Option<&'i str> },
}

/// A part of a response.
pub(super) enum ResponsePart<'i> {
    Text(Cow<'i, str>),
    Call(FunctionCall<'i>),
}

/// The output of a call.
pub(super) struct Output<'i> {
    pub(super) call_id: &'i str,
    pub(super) parts: Vec<Part<'i>>,
    pub(super) is_error: bool,
}

/// The kinds of items and parts that are left out because messages have no form for them.
pub(super) type Omitted = BTreeSet<String>;

/// Returns the messages of a conversation. Blank texts are left out, because Anthropic's API
/// refuses them.
pub(super) fn messages_of<'i>(items: &'i [Item], omitted: &mut Omitted) -> Vec<Message<'i>> {
    let outputs = outputs_by_call(items);
    let mut conversation = Conversation { messages: Vec::new(), is_open: false };
    for (place, item) in items.iter().enumerate() {
        match item.view() {
            ItemView::Message { role: "assistant", content } => {
                for part in parts(content, omitted) {
                    match part {
                        Part::Text(text) => conversation.respond(ResponsePart::Text(text), None),
                        Part::Image { .. } => {
                            omitted.insert("image in an assistant's message".to_owned());
                        }
                    }
                }
            }
            ItemView::FunctionCall(call) => match outputs.get(&place) {
                Some(output) => {
                    let output = output_of(output, omitted);
                    conversation.respond(ResponsePart::Call(call), Some(output));
                }
                None => {
                    omitted.insert("function_call without an output".to_owned());
                }
            },
            ItemView::Message { role, content } => conversation.input(role, parts(content, omitted)),
            ItemView::FunctionCallOutput { call_id, .. } => conversation.end_response_with(call_id),
            ItemView::Reasoning | ItemView::HostedCall { .. } => {}
            ItemView::NativeCall { .. } | ItemView::NativeCallOutput { .. } => {
                omitted.insert(items[place].kind().to_owned());
            }
            ItemView::Other { kind } => {
                omitted.insert(if kind.is_empty() { "item without a type" } else { kind }.to_owned());
            }
        }
    }
    conversation.messages
}

/// The messages so far.
struct Conversation<'i> {
    messages: Vec<Message<'i>>,
    /// `true` if the last message is a response to which further items may belong.
    is_open: bool,
}

impl<'i> Conversation<'i> {
    fn input(&mut self, role: &'i str, parts: Vec<Part<'i>>) {
        if !parts.is_empty() {
            self.is_open = false;
            self.messages.push(Message::Input { role, parts });
        }
    }

    /// Ends the response that this output belongs to, and already has.
    fn end_response_with(&mut self, call_id: &str) {
        if let Some(Message::Response { outputs, .. }) = self.messages.last()
            && outputs.iter().any(|output| output.call_id == call_id)
        {
            self.is_open = false;
        }
    }

    fn respond(&mut self, part: ResponsePart<'i>, output: Option<Output<'i>>) {
        match self.messages.last_mut() {
            Some(Message::Response { parts, outputs }) if self.is_open => {
                parts.push(part);
                outputs.extend(output);
            }
            _ => {
                let outputs = output.into_iter().collect();
                self.messages.push(Message::Response { parts: vec![part], outputs });
            }
        }
        self.is_open = true;
    }
}

/// Returns the output of each call, by the call's index.
fn outputs_by_call(items: &[Item]) -> BTreeMap<usize, &Item> {
    let (mut open, mut outputs) = (BTreeMap::new(), BTreeMap::new());
    for (place, item) in items.iter().enumerate() {
        match item.view() {
            ItemView::FunctionCall(call) => {
                open.insert(call.call_id.to_owned(), place);
            }
            ItemView::FunctionCallOutput { call_id, .. } => {
                if let Some(call) = open.remove(call_id) {
                    outputs.insert(call, item);
                }
            }
            _ => {}
        }
    }
    outputs
}

fn output_of<'i>(item: &'i Item, omitted: &mut Omitted) -> Output<'i> {
    let output = item.get("output").unwrap_or(&Value::Null);
    let parts = match output {
        Value::String(text) => vec![Part::Text(text.into())],
        Value::Array(_) => parts(output, omitted),
        Value::Null => Vec::new(),
        other => vec![Part::Text(other.to_string().into())],
    };
    Output { call_id: item.call_id().unwrap_or_default(), parts, is_error: item.is_tool_error() }
}

/// Returns the parts of a content that messages have a form for.
fn parts<'i>(content: &'i Value, omitted: &mut Omitted) -> Vec<Part<'i>> {
    let parts = match content {
        Value::Array(parts) => parts.iter().filter_map(|content| part(content, omitted)).collect(),
        content => content.as_str().map(text).into_iter().collect::<Vec<_>>(),
    };
    let is_blank = |part: &Part<'_>| matches!(part, Part::Text(text) if text.trim().is_empty());
    parts.into_iter().filter(|part| !is_blank(part)).collect()
}

fn part<'i>(content: &'i Value, omitted: &mut Omitted) -> Option<Part<'i>> {
    let string = |member: &str| content.get(member).and_then(Value::as_str);
    let kind = string("type").unwrap_or("part without a type");
    let part = match kind {
        "input_text" | "output_text" | "text" => string("text").map(text),
        "refusal" => string("refusal").map(text),
        "input_image" => string("image_url").map(|url| Part::Image { url, detail: string("detail") }),
        _ => None,
    };
    if part.is_none() {
        omitted.insert(kind.to_owned());
    }
    part
}

fn text(text: &str) -> Part<'_> {
    Part::Text(text.into())
}

impl Output<'_> {
    /// Returns the text of the output: its texts, one a line.
    pub(super) fn text(&self) -> String {
        let texts: Vec<&str> = self.parts.iter().filter_map(Part::as_text).collect();
        texts.join("\n")
    }

    /// `true` if the output has an image.
    pub(super) fn has_image(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Image { .. }))
    }
}

impl Part<'_> {
    /// Returns the text of a text part.
    pub(super) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Image { .. } => None,
        }
    }
}
