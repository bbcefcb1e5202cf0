//! The chunks of Chat Completions, and the content of the completion.

use ::genai::chat::{ContentPart, StopReason, ToolCall, Usage};
use serde_json::{Map, Value};

use super::Reading;
use crate::provider::{
    ModelDeltas,
    chat_chunks::{ChatChunks, Layout},
    genai::response::ResponseContent,
};

/// The chunks so far.
pub(super) struct CompletionChunks {
    chunks: ChatChunks,
    is_groq: bool,
}

impl CompletionChunks {
    pub(super) fn new(adapter: &str) -> Self {
        Self { chunks: ChatChunks::new(Layout::Separate), is_groq: adapter == "groq" }
    }
}

impl Reading for CompletionChunks {
    fn read(&mut self, name: &str, data: &str, deltas: &ModelDeltas) -> Result<bool, &'static str> {
        self.chunks.read(name, data, deltas)
    }

    fn kept(&self) -> usize {
        self.chunks.kept()
    }

    fn body(self: Box<Self>) -> Option<Map<String, Value>> {
        let mut body = self.chunks.body()?;
        // Groq sends the usage of a stream in a member of its own.
        let usage = body.get("x_groq").and_then(|own| own.get("usage")).filter(|_| self.is_groq).cloned();
        if let Some(usage) = usage {
            body.insert("usage".to_owned(), usage);
        }
        Some(body)
    }
}

/// Returns the content of a completion, as the crate reads it from a whole one.
///
/// # Errors
/// A call without a name.
pub(in crate::provider::genai) fn content(adapter: &str, body: &Value) -> Result<ResponseContent, &'static str> {
    let choice = &body["choices"][0];
    let message = &choice["message"];
    let (text, thinking) = texts(&message["content"]);
    let own = ["reasoning", "reasoning_content"].into_iter().find_map(|name| message[name].as_str());
    let reasoning = own.or(Some(&*thinking).filter(|text| !text.is_empty())).map(|text| text.trim().to_owned());
    let details = message["reasoning_details"].as_array().into_iter().flatten();
    let mut parts: Vec<ContentPart> = details
        .filter(|detail| detail.is_object())
        .map(|detail| ContentPart::from_custom(detail.clone(), None))
        .collect();
    if !text.trim().is_empty() {
        parts.push(ContentPart::Text(text.trim().to_owned()));
    }
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        parts.push(ContentPart::ToolCall(tool_call(call)?));
    }
    let stop = choice["finish_reason"].as_str().map(|reason| StopReason::from(reason.to_owned()));
    Ok(ResponseContent { parts, reasoning, stop, usage: usage(adapter, &body["usage"]) })
}

/// Returns the text in the content of a message, and the thinking, which Mistral has there.
fn texts(content: &Value) -> (String, String) {
    let (mut text, mut thinking) = (content.as_str().unwrap_or_default().to_owned(), String::new());
    for part in content.as_array().into_iter().flatten() {
        match (part["type"].as_str(), &part["thinking"]) {
            (Some("text"), _) => text.push_str(part["text"].as_str().unwrap_or_default()),
            (Some("thinking"), Value::Array(thoughts)) => {
                thinking.extend(thoughts.iter().filter_map(|thought| thought["text"].as_str()));
            }
            (Some("thinking"), thought) => thinking.push_str(thought.as_str().unwrap_or_default()),
            _ => {}
        }
    }
    (text, thinking)
}

/// Reads a call. Arguments that are not JSON are kept as they came: the run tells the model so.
fn tool_call(call: &Value) -> Result<ToolCall, &'static str> {
    let function = &call["function"];
    let fn_name = function["name"].as_str().ok_or("a tool call has no name")?.to_owned();
    let fn_arguments = match &function["arguments"] {
        Value::String(text) if text.trim().is_empty() => Value::Null,
        Value::String(text) => match serde_json::from_str(text) {
            Ok(arguments @ (Value::Object(_) | Value::Null)) => arguments,
            Ok(_) | Err(_) => text.as_str().into(),
        },
        arguments => arguments.clone(),
    };
    let call_id = call["id"].as_str().unwrap_or_default().to_owned();
    Ok(ToolCall { call_id, fn_name, fn_arguments, thought_signatures: None })
}

fn usage(adapter: &str, usage: &Value) -> Usage {
    let mut usage: Usage = serde_json::from_value(usage.clone()).unwrap_or_default();
    // xAI does not count the reasoning among the output.
    if adapter == "xai"
        && let Some(reasoning) = usage.completion_tokens_details.as_ref().and_then(|details| details.reasoning_tokens)
    {
        usage.completion_tokens = Some(usage.completion_tokens.unwrap_or_default().saturating_add(reasoning));
    }
    usage
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn token_counts_stop_at_the_largest_number() {
        let counts = json!({
            "completion_tokens": i32::MAX, "completion_tokens_details": {"reasoning_tokens": 5}, "prompt_tokens": 1,
        });
        assert_eq!(super::usage("xai", &counts).completion_tokens, Some(i32::MAX));
    }
}
