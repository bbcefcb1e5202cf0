//! From the crate's response to a model response.

use ::genai::chat::{ChatResponse, ContentPart, StopReason, ToolCall, Usage as Counted};
use serde_json::{Map, Value, json};

use super::{
    dialect::{Dialect, Shape},
    thoughts,
};
use crate::provider::{
    ModelError,
    answer_items::{assistant_message, with_refusal},
    http::{answer::Answer, classify::ProviderError, outgoing::unsupported},
    stop_reason,
};
use temporal_agents_core::wire::{InputTokensDetails, Item, ModelResponse, OutputTokensDetails, Usage};

/// The content of a response, as the crate reads it.
pub(super) struct ResponseContent {
    pub(super) parts: Vec<ContentPart>,
    /// Reasoning that is not among the parts.
    pub(super) reasoning: Option<String>,
    pub(super) stop: Option<StopReason>,
    pub(super) usage: Counted,
}

impl From<ChatResponse> for ResponseContent {
    fn from(response: ChatResponse) -> Self {
        let ChatResponse { content, reasoning_content, stop_reason, usage, .. } = response;
        Self { parts: content.into_iter().collect(), reasoning: reasoning_content, stop: stop_reason, usage }
    }
}

/// Returns the model response of an answer. It has no response id, because no later call can refer
/// to it by one; nor a request id, because the crate drops the headers of a success.
///
/// # Errors
/// The failure that the answer represents, if it is not a message of a model, or the model stopped
/// with an error.
pub(super) fn project(
    dialect: &Dialect,
    content: ResponseContent,
    answer: &Answer,
    keep_raw_usage: bool,
) -> Result<ModelResponse, ModelError> {
    let raw = answer.object()?;
    let choices = raw.get("choices").and_then(Value::as_array);
    if dialect.shape == Shape::OpenAi && choices.is_none_or(Vec::is_empty) {
        return Err(answer.invalid("the completion has no choices"));
    }
    let choice = choices.and_then(|choices| choices.first()).and_then(Value::as_object);
    if let Some(error) = choice.and_then(ProviderError::in_answer) {
        return Err(answer.reported(error));
    }
    let ResponseContent { parts, reasoning: reasoning_content, stop, usage } = content;
    let mut items = Items { adapter: &dialect.adapter, done: Vec::new(), texts: Vec::new(), thoughts: Vec::new() };
    // Reasoning that is not among the parts came before them.
    if let Some(text) = reasoning_content.filter(|text| !text.is_empty())
        && !parts.iter().any(ContentPart::is_reasoning_content)
    {
        items.thoughts.push(ContentPart::ReasoningContent(text));
    }
    for part in parts {
        items.add(part)?;
    }
    items.end_thoughts();
    items.end_texts();
    let output = match own_refusal(&raw) {
        Some(refusal) => with_refusal(items.done, refusal),
        None => items.done,
    };
    let (output, incomplete) = stop_reason::conclude(answer, output, stop.as_ref().map(StopReason::raw))?;
    let raw_usage =
        ["usage", "usageMetadata"].into_iter().find_map(|name| raw.get(name)).filter(|usage| !usage.is_null());
    Ok(ModelResponse {
        output,
        usage: counts(&usage),
        response_id: None,
        request_id: None,
        incomplete,
        raw_usage: raw_usage.filter(|_| keep_raw_usage).cloned(),
    })
}

/// Returns the text of the model's own refusal, which Chat Completions has beside the content.
fn own_refusal(raw: &Map<String, Value>) -> Option<&str> {
    raw.get("choices")?[0]["message"]["refusal"].as_str().filter(|refusal| !refusal.is_empty())
}

/// The items of a response, in its order. Consecutive texts are one message, and consecutive
/// thoughts one item.
struct Items<'d> {
    adapter: &'d str,
    done: Vec<Item>,
    texts: Vec<Value>,
    thoughts: Vec<ContentPart>,
}

impl Items<'_> {
    fn add(&mut self, part: ContentPart) -> Result<(), ModelError> {
        match part {
            ContentPart::Text(text) if text.is_empty() => {}
            ContentPart::Text(text) => {
                self.end_thoughts();
                self.texts.push(json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []}));
            }
            ContentPart::ToolCall(call) => {
                self.end_thoughts();
                self.end_texts();
                self.done.push(call_item(call));
            }
            thought
            @ (ContentPart::ThoughtSignature(_) | ContentPart::ReasoningContent(_) | ContentPart::Custom(_)) => {
                self.end_texts();
                self.thoughts.push(thought);
            }
            ContentPart::Binary(file) => {
                return Err(unsupported(format_args!(
                    "{} (through genai) answered with a file ({}); only text and calls are read",
                    self.adapter, file.content_type
                )));
            }
            ContentPart::ToolResponse(_) => {}
        }
        Ok(())
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

fn call_item(call: ToolCall) -> Item {
    let ToolCall { call_id, fn_name, fn_arguments, thought_signatures: _ } = call;
    let arguments = match fn_arguments {
        Value::Null => "{}".to_owned(),
        Value::String(text) => text,
        arguments => arguments.to_string(),
    };
    Item::function_call(unique(call_id, &fn_name), fn_name, arguments)
}

/// Returns a call id that no other response has. Google's calls mostly have no ids. The crate
/// numbers them within one response (`call#NAME#0`), recognizes its own ids by that form and does
/// not send them; a run needs ids that are unique among all responses.
fn unique(call_id: String, name: &str) -> String {
    let counted = call_id.strip_prefix("call#").and_then(|rest| rest.rsplit_once('#'));
    match counted {
        Some((of, count)) if of == name && count.parse::<u32>().is_ok() => {
            format!("call#{name}#{}", uuid::Uuid::new_v4().as_fields().0)
        }
        _ => call_id,
    }
}

fn counts(usage: &Counted) -> Usage {
    let count = |count: Option<i32>| count.and_then(|count| u64::try_from(count).ok());
    let input = usage.prompt_tokens_details.as_ref();
    let reasoning = usage.completion_tokens_details.as_ref().and_then(|details| count(details.reasoning_tokens));
    let input_tokens = count(usage.prompt_tokens).unwrap_or_default();
    // Google leaves out the count of output tokens if it is zero.
    let output_tokens = count(usage.completion_tokens).or(reasoning).unwrap_or_default();
    Usage {
        requests: 1,
        input_tokens,
        input_tokens_details: InputTokensDetails {
            cached_tokens: input.and_then(|details| count(details.cached_tokens)).unwrap_or_default(),
            cache_write_tokens: input.and_then(|details| count(details.cache_creation_tokens)).unwrap_or_default(),
        },
        output_tokens,
        output_tokens_details: OutputTokensDetails { reasoning_tokens: reasoning.unwrap_or_default() },
        total_tokens: count(usage.total_tokens).unwrap_or(input_tokens.saturating_add(output_tokens)),
        ..Usage::default()
    }
}
