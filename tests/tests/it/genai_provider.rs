//! The provider over the crate genai against an HTTP server: what is sent, what comes back, what a failure says.
//!
//! | file | what it holds |
//! |---|---|
//! | `anthropic.rs` | the Messages API: requests, answers, thinking, errors of tools |
//! | `others.rs` | Google's API, Chat Completions, and those that take little |
//! | `failures.rs` | statuses, headers, redaction, answers that are none |
//! | `durable.rs` | a workflow on the dev server |

mod anthropic;
mod durable;
mod failures;
mod others;

use std::sync::Arc;

use serde_json::{Value, json};
use temporal_agents::{
    provider::{Genai, GenaiBuilder, GenaiConfigError, Model, ModelError, ModelProvider},
    wire::{Definitions, Item, ModelCall, ModelResponse, ModelSettings, ToolSpec},
};
use wiremock::{Mock, MockServer, Request, ResponseTemplate, matchers};

const KEY: &str = "the-secret-key";
const CLAUDE: &str = "claude-sonnet-4-6";

/// A provider whose adapter of this name asks the server.
fn builder(adapter: &str, server: &MockServer) -> GenaiBuilder {
    Genai::builder().api_key(adapter, KEY).base_url(adapter, format!("{}/v1", server.uri()))
}

async fn model(builder: GenaiBuilder, name: &str) -> Arc<dyn Model> {
    let provider = builder.build().expect("a complete configuration");
    provider.model(name).await.expect("no credentials to fetch").expect("the name is served")
}

async fn server(response: ResponseTemplate) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(matchers::any()).respond_with(response).mount(&server).await;
    server
}

/// A call of a model; the only request of it comes with its outcome.
async fn exchange(
    adapter: &str,
    name: &str,
    call: ModelCall,
    response: ResponseTemplate,
) -> (Request, Result<ModelResponse, ModelError>) {
    let server = server(response).await;
    let outcome = model(builder(adapter, &server), name).await.call(call).await;
    let mut requests = server.received_requests().await.expect("requests are recorded");
    assert_eq!(requests.len(), 1, "one call is one request: {outcome:?}");
    (requests.remove(0), outcome)
}

/// What Anthropic answers, and what becomes of it.
async fn claude(call: ModelCall, answer: Value) -> (Value, Result<ModelResponse, ModelError>) {
    let (request, outcome) =
        exchange("anthropic", CLAUDE, call, ResponseTemplate::new(200).set_body_json(answer)).await;
    (body(&request), outcome)
}

/// A call that is refused before anything is sent.
async fn refusal(adapter: &str, name: &str, call: ModelCall) -> ModelError {
    let server = MockServer::start().await;
    let outcome = model(builder(adapter, &server), name).await.call(call).await;
    assert_eq!(server.received_requests().await.expect("requests are recorded").len(), 0);
    outcome.expect_err("a refusal")
}

fn call_of(input: Value) -> ModelCall {
    call_with(Definitions::default(), input)
}

fn call_with(definitions: Definitions, input: Value) -> ModelCall {
    let input: Vec<Item> = serde_json::from_value(input).expect("items are objects");
    ModelCall::new("clerk", CLAUDE, definitions, input)
}

fn hello() -> ModelCall {
    call_of(json!([{"role": "user", "content": "hi"}]))
}

fn hello_with(settings: Value) -> ModelCall {
    let mut call = hello();
    call.definitions.settings = self::settings(settings);
    call
}

fn settings(settings: Value) -> ModelSettings {
    serde_json::from_value(settings).expect("settings of this shape")
}

fn function(name: &str, strict: bool) -> ToolSpec {
    ToolSpec::Function {
        name: name.into(),
        description: "Weather".into(),
        parameters: json!({
            "type": "object",
            "properties": {"z": {"type": "string"}, "a": {"type": "string"}},
            "required": ["z", "a"],
            "additionalProperties": false,
        })
        .into(),
        strict,
    }
}

fn body(request: &Request) -> Value {
    request.body_json().expect("a JSON body")
}

fn header<'a>(request: &'a Request, name: &str) -> Option<&'a str> {
    request.headers.get(name).map(|value| value.to_str().expect("a text header"))
}

fn items(response: &ModelResponse) -> Value {
    serde_json::to_value(&response.output).expect("items are JSON")
}

/// An answer of Anthropic's Messages API.
fn says(content: Value, stop_reason: &str) -> Value {
    json!({
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": CLAUDE,
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": null,
        "usage": {
            "input_tokens": 10,
            "cache_creation_input_tokens": 5,
            "cache_read_input_tokens": 85,
            "output_tokens": 20,
            "output_tokens_details": {"thinking_tokens": 7},
        },
    })
}

#[tokio::test]
async fn a_name_that_is_not_served_is_left_to_the_next_provider() -> Result<(), GenaiConfigError> {
    let provider = Genai::builder().base_url("anthropic", "http://localhost:1").build()?;
    for (name, served) in [(CLAUDE, true), ("anthropic::claude", true), ("gpt-5", false), ("qwen3", false)] {
        assert_eq!(provider.model(name).await.expect("no failure").is_some(), served, "{name}");
    }
    let all = Genai::builder().base_url("anthropic", "http://localhost:1").serving(|_| true).build()?;
    assert!(all.model("gpt-5").await.expect("no failure").is_some());
    Ok(())
}
