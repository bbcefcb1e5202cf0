//! Servers of the APIs on loopback: each refuses what the real one refuses, in its recorded words,
//! and otherwise plays one conversation, whole or streamed.

use std::{
    convert::Infallible,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use http_body_util::{BodyExt, Collected, Full};
use hyper::{
    Request, Response,
    body::{Bytes, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::{
    net::TcpListener,
    task::{JoinHandle, JoinSet},
};

use super::rules::{Api, Refusal, recorded::refusal_body, refusals_after};

/// A part of an answer.
#[derive(Clone)]
pub(super) enum Part {
    Text(String),
    /// A call of the function whose name contains this text, with these arguments.
    Call(&'static str, Value),
}

/// Answers by the number of tool outputs in a request.
pub(super) type Script = Arc<dyn Fn(usize) -> Vec<Part> + Send + Sync>;

/// A server of one API; dropping it ends it.
pub(super) struct ApiServer {
    pub(super) url: String,
    state: Arc<State>,
    serving: JoinHandle<()>,
}

struct State {
    api: Api,
    script: Script,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    requests: usize,
    largest: usize,
    refusals: Vec<Refusal>,
    answers: Vec<Value>,
}

impl ApiServer {
    pub(super) async fn start(api: Api, script: Script) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let state = Arc::new(State { api, script, seen: Mutex::default() });
        let shared = Arc::clone(&state);
        let serving = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let state = Arc::clone(&shared);
                let service = service_fn(move |request| respond(Arc::clone(&state), request));
                connections.spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        });
        Ok(Self { url, state, serving })
    }

    /// Asks the state directly, without a client.
    pub(super) fn answer_to(&self, path: &str, body: &Value) -> (u16, Value) {
        let (status, _, answer) = self.state.answer(path, body.to_string().as_bytes());
        (status, serde_json::from_str(&answer).unwrap_or_default())
    }

    /// The rules that requests broke.
    pub(super) fn refusals(&self) -> Vec<Refusal> {
        self.state.seen().refusals.clone()
    }

    /// The number of requests, and the bytes of the largest one.
    pub(super) fn requests(&self) -> (usize, usize) {
        let seen = self.state.seen();
        (seen.requests, seen.largest)
    }
}

impl Drop for ApiServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl State {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns status, content type and body of the answer to a request.
    fn answer(&self, path: &str, bytes: &[u8]) -> (u16, &'static str, String) {
        let body: Value = serde_json::from_slice(bytes).unwrap_or_default();
        let model = path.rsplit('/').next().and_then(|last| last.split_once(':')).map_or("", |(model, _)| model);
        let mut seen = self.seen();
        seen.requests += 1;
        seen.largest = seen.largest.max(bytes.len());
        let refusals = refusals_after(self.api, model, &body, &seen.answers);
        if let Some(first) = refusals.first() {
            let (status, refusal) = refusal_body(self.api, first.rule);
            seen.refusals.extend(refusals);
            return (status, "application/json", refusal.to_string());
        }
        let parts = (self.script)(outputs(self.api, &body));
        let answer = whole(self.api, seen.requests, &parts, &functions(self.api, &body));
        seen.answers.push(answer.clone());
        if body["stream"] == true {
            (200, "text/event-stream", streamed(self.api, &answer))
        } else {
            (200, "application/json", answer.to_string())
        }
    }
}

async fn respond(state: Arc<State>, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let path = request.uri().path().to_owned();
    let bytes = request.into_body().collect().await.map(Collected::to_bytes).unwrap_or_default();
    let (status, kind, body) = state.answer(&path, &bytes);
    let response = Response::builder().status(status).header("content-type", kind).body(Full::from(body));
    Ok(response.expect("a status and a header"))
}

fn list<'v>(value: &'v Value, member: &str) -> &'v [Value] {
    value[member].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The number of tool outputs in a request.
fn outputs(api: Api, body: &Value) -> usize {
    match api {
        Api::Anthropic => {
            let blocks = list(body, "messages").iter().flat_map(|message| list(message, "content"));
            blocks.filter(|block| block["type"] == "tool_result").count()
        }
        Api::Responses | Api::AzureResponses => {
            list(body, "input").iter().filter(|item| item["type"] == "function_call_output").count()
        }
        Api::Gemini => {
            let parts = list(body, "contents").iter().flat_map(|content| list(content, "parts"));
            parts.filter(|part| part.get("functionResponse").is_some()).count()
        }
        _ => list(body, "messages").iter().filter(|message| message["role"] == "tool").count(),
    }
}

/// The names of the functions of a request.
fn functions(api: Api, body: &Value) -> Vec<String> {
    let name = |value: &Value| value["name"].as_str().unwrap_or_default().to_owned();
    match api {
        Api::Gemini => {
            let tools = list(body, "tools").iter();
            tools.flat_map(|tool| list(tool, "functionDeclarations")).map(name).collect()
        }
        Api::Anthropic | Api::Responses | Api::AzureResponses => list(body, "tools").iter().map(name).collect(),
        _ => list(body, "tools").iter().map(|tool| name(&tool["function"])).collect(),
    }
}

/// The whole answer with these parts.
fn whole(api: Api, number: usize, parts: &[Part], functions: &[String]) -> Value {
    let named = |part: &str| functions.iter().find(|name| name.contains(part)).cloned().unwrap_or_default();
    let calls = parts.iter().filter(|part| matches!(part, Part::Call(..))).count();
    match api {
        Api::Anthropic => {
            let mut content = vec![json!({"type": "thinking", "thinking": "hm", "signature": "EqoB"})];
            content.extend(parts.iter().enumerate().map(|(place, part)| match part {
                Part::Text(text) => json!({"type": "text", "text": text}),
                Part::Call(name, input) => {
                    json!({"type": "tool_use", "id": format!("toolu_{number}_{place}"), "name": named(name), "input": input})
                }
            }));
            json!({"id": format!("msg_{number}"), "type": "message", "role": "assistant", "model": "claude", "content": content,
                "stop_reason": if calls > 0 { "tool_use" } else { "end_turn" }, "stop_sequence": null,
                "usage": {"input_tokens": 5, "output_tokens": 5}})
        }
        Api::Responses | Api::AzureResponses => {
            let mut output = vec![json!({"type": "reasoning", "id": format!("rs_{number}"), "summary": []})];
            output.extend(parts.iter().enumerate().map(|(place, part)| match part {
                Part::Text(text) => json!({"type": "message", "id": format!("msg_{number}_{place}"), "role": "assistant",
                    "status": "completed", "content": [{"type": "output_text", "text": text, "annotations": []}]}),
                Part::Call(name, arguments) => json!({"type": "function_call", "id": format!("fc_{number}_{place}"),
                    "call_id": format!("call_{number}_{place}"), "name": named(name), "arguments": arguments.to_string(),
                    "status": "completed"}),
            }));
            json!({"id": format!("resp_{number}"), "object": "response", "status": "completed", "output": output,
                "usage": {"input_tokens": 5, "output_tokens": 5, "total_tokens": 10}})
        }
        Api::Gemini => {
            let mut is_signed = false;
            let parts: Vec<Value> = parts
                .iter()
                .map(|part| match part {
                    Part::Text(text) => json!({"text": text}),
                    Part::Call(name, args) => {
                        let mut part = json!({"functionCall": {"name": named(name), "args": args}});
                        if !std::mem::replace(&mut is_signed, true) {
                            part["thoughtSignature"] = "c2ln".into();
                        }
                        part
                    }
                })
                .collect();
            json!({"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}],
                "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 5, "totalTokenCount": 10}})
        }
        _ => {
            let text: Vec<&str> = parts
                .iter()
                .filter_map(|part| match part {
                    Part::Text(text) => Some(&**text),
                    Part::Call(..) => None,
                })
                .collect();
            let calls: Vec<Value> = parts
                .iter()
                .enumerate()
                .filter_map(|(place, part)| match part {
                    Part::Text(_) => None,
                    Part::Call(name, arguments) => {
                        Some(json!({"id": format!("call_{number}_{place}"), "type": "function",
                        "function": {"name": named(name), "arguments": arguments.to_string()}}))
                    }
                })
                .collect();
            let mut message = json!({"role": "assistant", "content": null});
            if !text.is_empty() {
                message["content"] = text.concat().into();
            }
            let finish = if calls.is_empty() { "stop" } else { "tool_calls" };
            if !calls.is_empty() {
                message["tool_calls"] = calls.into();
            }
            json!({"id": format!("chatcmpl-{number}"), "object": "chat.completion",
                "choices": [{"index": 0, "message": message, "finish_reason": finish}],
                "usage": {"prompt_tokens": 5, "completion_tokens": 5, "total_tokens": 10}})
        }
    }
}

/// The events of the same answer.
fn streamed(api: Api, answer: &Value) -> String {
    let event = |data: Value| format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap_or_default());
    match api {
        Api::Anthropic => {
            let mut message = answer.clone();
            message["content"] = json!([]);
            message["stop_reason"] = Value::Null;
            let mut events = event(json!({"type": "message_start", "message": message}));
            for (index, block) in list(answer, "content").iter().enumerate() {
                let (start, deltas) = match block["type"].as_str() {
                    Some("thinking") => (
                        json!({"type": "thinking", "thinking": ""}),
                        vec![
                            json!({"type": "thinking_delta", "thinking": block["thinking"]}),
                            json!({"type": "signature_delta", "signature": block["signature"]}),
                        ],
                    ),
                    Some("tool_use") => (
                        json!({"type": "tool_use", "id": block["id"], "name": block["name"], "input": {}}),
                        vec![json!({"type": "input_json_delta", "partial_json": block["input"].to_string()})],
                    ),
                    _ => (
                        json!({"type": "text", "text": ""}),
                        vec![json!({"type": "text_delta", "text": block["text"]})],
                    ),
                };
                events += &event(json!({"type": "content_block_start", "index": index, "content_block": start}));
                for delta in deltas {
                    events += &event(json!({"type": "content_block_delta", "index": index, "delta": delta}));
                }
                events += &event(json!({"type": "content_block_stop", "index": index}));
            }
            events += &event(json!({"type": "message_delta", "usage": {"output_tokens": 5},
                "delta": {"stop_reason": answer["stop_reason"], "stop_sequence": null}}));
            events + &event(json!({"type": "message_stop"}))
        }
        Api::Responses | Api::AzureResponses => {
            let created = json!({"id": answer["id"], "status": "in_progress", "output": []});
            let mut events = event(json!({"type": "response.created", "sequence_number": 0, "response": created}));
            for (index, item) in list(answer, "output").iter().enumerate() {
                events += &event(json!({"type": "response.output_item.added", "output_index": index, "item": item}));
                let (kind, delta) = match item["type"].as_str() {
                    Some("message") => ("response.output_text.delta", &item["content"][0]["text"]),
                    Some("function_call") => ("response.function_call_arguments.delta", &item["arguments"]),
                    _ => continue,
                };
                events +=
                    &event(json!({"type": kind, "output_index": index, "item_id": item["id"], "content_index": 0,
                    "delta": delta}));
            }
            events + &event(json!({"type": "response.completed", "sequence_number": 1, "response": answer}))
        }
        _ => {
            let mut delta = answer["choices"][0]["message"].clone();
            for (index, call) in delta["tool_calls"].as_array_mut().into_iter().flatten().enumerate() {
                call["index"] = index.into();
            }
            let chunk = |choices: Value, usage: &Value| {
                format!(
                    "data: {}\n\n",
                    json!({"id": answer["id"], "object": "chat.completion.chunk", "choices": choices, "usage": usage})
                )
            };
            let finish = &answer["choices"][0]["finish_reason"];
            chunk(json!([{"index": 0, "delta": delta, "finish_reason": null}]), &Value::Null)
                + &chunk(json!([{"index": 0, "delta": {}, "finish_reason": finish}]), &Value::Null)
                + &chunk(json!([]), &answer["usage"])
                + "data: [DONE]\n\n"
        }
    }
}
