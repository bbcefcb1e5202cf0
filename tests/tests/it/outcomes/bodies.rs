//! Answers of each API: each content with each reason to stop.

use std::sync::Arc;

use serde_json::{Value, json};
use temporal_agents::provider::{BoxFuture, Genai, Model, ModelError, ModelProvider, OpenAi, OpenAiApi};

use crate::streamed::server::Server;

/// An API, and the provider that reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Api {
    Responses,
    Chat,
    ChatThroughGenai,
    Anthropic,
    Gemini,
}

/// Why the model stopped, as a row of the guide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    Done,
    Limit,
    Context,
    Filter,
    Refusal,
    Pause,
    Error,
    Other,
}

/// What an answer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Nothing,
    Reasoning,
    Text,
    /// A text that is a value of the agent's output type.
    Json,
    Call,
    Calls,
}

impl Stop {
    pub(super) const ALL: [Self; 8] =
        [Self::Done, Self::Limit, Self::Context, Self::Filter, Self::Refusal, Self::Pause, Self::Error, Self::Other];

    /// The first cell of the row in the guide.
    pub(super) fn row(self) -> &'static str {
        match self {
            Self::Done => "it was done",
            Self::Limit => "it reached its limit of tokens",
            Self::Context => "its context was full",
            Self::Filter => "of a content filter",
            Self::Refusal => "it refused",
            Self::Pause => "the provider paused the turn",
            Self::Error => "of an error",
            Self::Other => "of another reason",
        }
    }
}

impl Content {
    /// The contents, with their columns in the guide.
    pub(super) const COLUMNS: [(Self, usize); 6] =
        [(Self::Nothing, 0), (Self::Reasoning, 0), (Self::Text, 1), (Self::Json, 2), (Self::Call, 3), (Self::Calls, 3)];

    fn text(self) -> Option<&'static str> {
        match self {
            Self::Text => Some("Once"),
            Self::Json => Some("{\"pieces\":3}"),
            _ => None,
        }
    }

    fn thinks(self) -> bool {
        self == Self::Reasoning
    }

    /// The arguments of the calls.
    fn calls(self) -> &'static [&'static str] {
        match self {
            Self::Call => &["{}"],
            Self::Calls => &["{\"amount\":1}", "{}"],
            _ => &[],
        }
    }
}

/// A provider of any kind.
pub(super) struct AnyProvider(Box<dyn ModelProvider>);

impl ModelProvider for AnyProvider {
    fn model<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Arc<dyn Model>>, ModelError>> {
        self.0.model(name)
    }

    fn name(&self) -> Option<&str> {
        self.0.name()
    }
}

impl Api {
    pub(super) const ALL: [Self; 5] =
        [Self::Responses, Self::Chat, Self::ChatThroughGenai, Self::Anthropic, Self::Gemini];

    pub(super) fn model(self) -> &'static str {
        match self {
            Self::Responses | Self::Chat => "m",
            Self::ChatThroughGenai => "groq::m",
            Self::Anthropic => "claude-sonnet-4-5",
            Self::Gemini => "gemini-3-flash",
        }
    }

    pub(super) fn provider(self, server: &Server) -> anyhow::Result<AnyProvider> {
        let url = format!("{}/v1", server.url);
        let openai = |api| OpenAi::builder().api_key("none").base_url(&*url).api(api).build();
        let genai = |adapter: &str| Genai::builder().api_key(adapter, "key").base_url(adapter, &*url).build();
        Ok(AnyProvider(match self {
            Self::Responses => Box::new(openai(OpenAiApi::Responses)?),
            Self::Chat => Box::new(openai(OpenAiApi::ChatCompletions)?),
            Self::ChatThroughGenai => Box::new(genai("groq")?),
            Self::Anthropic => Box::new(genai("anthropic")?),
            Self::Gemini => Box::new(genai("gemini")?),
        }))
    }

    /// `true` if the provider streams calls of the API.
    pub(super) fn streams(self) -> bool {
        self != Self::Gemini
    }

    /// The API's word for a reason to stop; `None` if it has none.
    pub(super) fn word(self, stop: Stop) -> Option<&'static str> {
        match (self, stop) {
            (Self::Responses, Stop::Done) => Some("completed"),
            (Self::Responses, Stop::Limit) => Some("max_output_tokens"),
            (Self::Responses | Self::Chat | Self::ChatThroughGenai, Stop::Filter) => Some("content_filter"),
            (Self::Responses, Stop::Error) => Some("failed"),
            (Self::Chat | Self::ChatThroughGenai, Stop::Done) => Some("stop"),
            (Self::Chat | Self::ChatThroughGenai, Stop::Limit) => Some("length"),
            (Self::Chat | Self::ChatThroughGenai, Stop::Context) => Some("model_length"),
            (Self::Chat | Self::ChatThroughGenai, Stop::Error) => Some("error"),
            (Self::Anthropic, Stop::Done) => Some("end_turn"),
            (Self::Anthropic, Stop::Limit) => Some("max_tokens"),
            (Self::Anthropic, Stop::Context) => Some("model_context_window_exceeded"),
            (Self::Anthropic, Stop::Refusal) => Some("refusal"),
            (Self::Anthropic, Stop::Pause) => Some("pause_turn"),
            (Self::Gemini, Stop::Done) => Some("STOP"),
            (Self::Gemini, Stop::Limit) => Some("MAX_TOKENS"),
            (Self::Gemini, Stop::Filter) => Some("SAFETY"),
            (Self::Gemini, Stop::Error) => Some("MALFORMED_FUNCTION_CALL"),
            (Self::Chat | Self::ChatThroughGenai | Self::Anthropic | Self::Gemini, Stop::Other) => Some("tired"),
            _ => None,
        }
    }
}

/// The last answer of a run.
pub(super) fn last(api: Api, content: Content) -> Value {
    whole(api, Stop::Done, content)
}

pub(super) fn whole(api: Api, stop: Stop, content: Content) -> Value {
    let word = api.word(stop).expect("the API has the reason");
    match api {
        Api::Responses => response(stop, word, content),
        Api::Chat | Api::ChatThroughGenai => {
            let message = chat_message(content);
            json!({"id": "c", "choices": [{"index": 0, "message": message, "finish_reason": word}], "usage": chat_usage()})
        }
        Api::Anthropic => {
            let mut message = claude_message(word);
            message["content"] = claude_blocks(content).into();
            message
        }
        Api::Gemini => json!({
            "candidates": [{"content": {"role": "model", "parts": parts(content)}, "finishReason": word, "index": 0}],
            "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 4, "totalTokenCount": 7},
        }),
    }
}

/// The whole answer as a stream.
pub(super) fn stream(api: Api, stop: Stop, content: Content) -> String {
    let word = api.word(stop).expect("the API has the reason");
    let end = match api {
        Api::Responses => {
            let kind = match stop {
                Stop::Done => "response.completed",
                Stop::Error => "response.failed",
                _ => "response.incomplete",
            };
            event(&json!({"type": kind, "response": response(stop, word, content)}))
        }
        Api::Chat | Api::ChatThroughGenai => {
            let chunk = json!({"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": word}]});
            let usage = json!({"id": "c", "choices": [], "usage": chat_usage()});
            format!("data: {chunk}\n\ndata: {usage}\n\ndata: [DONE]\n\n")
        }
        Api::Anthropic => {
            let delta = json!({"type": "message_delta", "delta": {"stop_reason": word}, "usage": {"output_tokens": 4}});
            format!("{}{}", event(&delta), event(&json!({"type": "message_stop"})))
        }
        Api::Gemini => unreachable!("its streams are not read"),
    };
    start(api, content) + &end
}

/// A stream without its end.
pub(super) fn start(api: Api, content: Content) -> String {
    match api {
        Api::Responses => {
            let mut stream = event(&json!({"type": "response.created", "response": {"id": "r"}}));
            for (index, item) in items(content).into_iter().enumerate() {
                stream += &event(&json!({"type": "response.output_item.done", "output_index": index, "item": item}));
            }
            stream
        }
        Api::Chat | Api::ChatThroughGenai => {
            let mut delta = chat_message(content);
            for (index, call) in delta["tool_calls"].as_array_mut().into_iter().flatten().enumerate() {
                call["index"] = index.into();
            }
            let chunk = json!({"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]});
            format!("data: {chunk}\n\n")
        }
        Api::Anthropic => {
            let mut stream = event(&json!({"type": "message_start", "message": claude_message("")}));
            for (index, mut block) in claude_blocks(content).into_iter().enumerate() {
                let deltas = match block["type"].as_str() {
                    Some("text") => vec![json!({"type": "text_delta", "text": block["text"].take()})],
                    Some("thinking") => vec![
                        json!({"type": "thinking_delta", "thinking": block["thinking"].take()}),
                        json!({"type": "signature_delta", "signature": block["signature"].take()}),
                    ],
                    _ => vec![json!({"type": "input_json_delta", "partial_json": block["input"].take().to_string()})],
                };
                for member in ["text", "thinking", "signature"] {
                    if block.get(member).is_some() {
                        block[member] = "".into();
                    }
                }
                stream += &event(&json!({"type": "content_block_start", "index": index, "content_block": block}));
                for delta in deltas {
                    stream += &event(&json!({"type": "content_block_delta", "index": index, "delta": delta}));
                }
                stream += &event(&json!({"type": "content_block_stop", "index": index}));
            }
            stream
        }
        Api::Gemini => unreachable!("its streams are not read"),
    }
}

fn event(data: &Value) -> String {
    format!("event: {}\ndata: {data}\n\n", data["type"].as_str().expect("a type"))
}

fn response(stop: Stop, word: &str, content: Content) -> Value {
    let mut response = json!({"id": "r", "status": word, "output": items(content), "usage": {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}});
    match stop {
        Stop::Done => {}
        Stop::Error => response["error"] = json!({"code": "server_error", "message": "sorry"}),
        _ => {
            response["status"] = "incomplete".into();
            response["incomplete_details"] = json!({"reason": word});
        }
    }
    response
}

fn items(content: Content) -> Vec<Value> {
    let mut items = Vec::new();
    if content.thinks() {
        items.push(json!({"type": "reasoning", "id": "rs_1", "summary": []}));
    }
    if let Some(text) = content.text() {
        let part = json!({"type": "output_text", "text": text, "annotations": []});
        items.push(json!({"type": "message", "id": "msg_1", "role": "assistant", "content": [part]}));
    }
    for (index, arguments) in content.calls().iter().enumerate() {
        items.push(json!({"type": "function_call", "id": format!("fc_{index}"), "call_id": format!("c{index}"), "name": "pay", "arguments": arguments}));
    }
    items
}

fn chat_message(content: Content) -> Value {
    let mut message = json!({"role": "assistant", "content": content.text()});
    if content.thinks() {
        message["reasoning_content"] = "hm".into();
    }
    let call = |(index, arguments): (usize, &&str)| json!({"id": format!("c{index}"), "type": "function", "function": {"name": "pay", "arguments": arguments}});
    let calls: Vec<Value> = content.calls().iter().enumerate().map(call).collect();
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    message
}

fn chat_usage() -> Value {
    json!({"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7})
}

fn claude_message(stop_reason: &str) -> Value {
    let stop_reason = if stop_reason.is_empty() { Value::Null } else { stop_reason.into() };
    json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": [],
        "stop_reason": stop_reason, "usage": {"input_tokens": 3, "output_tokens": 4},
    })
}

fn claude_blocks(content: Content) -> Vec<Value> {
    let mut blocks = Vec::new();
    if content.thinks() {
        blocks.push(json!({"type": "thinking", "thinking": "hm", "signature": "sig"}));
    }
    if let Some(text) = content.text() {
        blocks.push(json!({"type": "text", "text": text}));
    }
    for (index, arguments) in content.calls().iter().enumerate() {
        let input: Value = serde_json::from_str(arguments).expect("JSON");
        blocks.push(json!({"type": "tool_use", "id": format!("t{index}"), "name": "pay", "input": input}));
    }
    blocks
}

fn parts(content: Content) -> Vec<Value> {
    let mut parts = Vec::new();
    if content.thinks() {
        parts.push(json!({"text": "hm", "thought": true}));
    }
    if let Some(text) = content.text() {
        parts.push(json!({"text": text}));
    }
    for arguments in content.calls() {
        let args: Value = serde_json::from_str(arguments).expect("JSON");
        parts.push(json!({"functionCall": {"name": "pay", "args": args}, "thoughtSignature": "sig"}));
    }
    parts
}
