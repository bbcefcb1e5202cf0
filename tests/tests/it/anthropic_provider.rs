//! The Anthropic provider against an HTTP server. `genai_provider/anthropic.rs` has what is sent and what comes back, which
//! is the same; here are the configuration, the headers, and the limits.

use std::sync::Arc;

use serde_json::{Value, json};
use temporal_agents::{
    provider::{Anthropic, AnthropicBuilder, Model, ModelError, ModelProvider, OpenAiApi},
    wire::{Definitions, Item, ModelCall, ModelFailureKind},
};
use wiremock::{Mock, MockServer, Request, ResponseTemplate, matchers};

use crate::streamed::{
    pairs::{Pair, assert_deltas_become_items, pairs_of},
    server::{Answer, Server},
    streamed,
};

const KEY: &str = "the-secret-key";
const CLAUDE: &str = "anthropic::claude-sonnet-4-6";

async fn model(builder: AnthropicBuilder) -> Arc<dyn Model> {
    let provider = builder.api_key(KEY).build().expect("a complete configuration");
    provider.model(CLAUDE).await.expect("no credentials to fetch").expect("the name is served")
}

fn hello(settings: Value) -> ModelCall {
    let definitions = Definitions {
        settings: serde_json::from_value(settings).expect("settings of this shape"),
        ..Definitions::default()
    };
    ModelCall::new("clerk", CLAUDE, definitions, vec![Item::user("hi")])
}

async fn server(response: ResponseTemplate) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(matchers::any()).respond_with(response).mount(&server).await;
    server
}

async fn only_request(server: &MockServer) -> Request {
    let mut requests = server.received_requests().await.expect("requests are recorded");
    assert_eq!(requests.len(), 1);
    requests.remove(0)
}

async fn failure(response: ResponseTemplate) -> ModelError {
    let server = server(response).await;
    let error = model(Anthropic::builder().base_url(server.uri())).await.call(hello(json!({}))).await;
    only_request(&server).await;
    error.expect_err("a failure")
}

#[tokio::test]
async fn a_request_has_what_the_provider_and_the_call_add() {
    let answer = json!({
        "content": [{"type": "text", "text": "hi"}], "stop_reason": "end_turn",
        "usage": {"input_tokens": 3, "output_tokens": 4},
    });
    let server = server(ResponseTemplate::new(200).insert_header("request-id", "req_1").set_body_json(answer)).await;
    let builder = Anthropic::builder().base_url(server.uri()).header("X-Team", "red").header("anthropic-beta", "b1");
    let settings = json!({"extra_headers": {"anthropic-beta": "b2"}, "extra_query": {"beta": true}});
    let response = model(builder).await.call(hello(settings)).await.expect("a response");
    assert_eq!((response.request_id.as_deref(), response.usage.total_tokens), (Some("req_1"), 7));
    let request = only_request(&server).await;
    let header = |name: &str| request.headers.get(name).map(|value| value.to_str().expect("a text header"));
    assert_eq!((request.url.path(), request.url.query()), ("/v1/messages", Some("beta=true")));
    assert_eq!((header("x-api-key"), header("anthropic-version")), (Some(KEY), Some("2023-06-01")));
    assert_eq!((header("x-team"), header("anthropic-beta")), (Some("red"), Some("b2")));
    assert_eq!(request.body_json::<Value>().expect("a JSON body")["model"], "claude-sonnet-4-6");
}

#[tokio::test]
async fn a_failed_request_keeps_what_the_server_said_without_the_key() {
    let error = json!({"type": "overloaded_error", "message": format!("busy with {KEY}")});
    let body = json!({"type": "error", "error": error, "request_id": "req_1"});
    let answer = ResponseTemplate::new(529).insert_header("request-id", "req_1").insert_header("retry-after", "20");
    let error = failure(answer.set_body_json(body)).await;
    assert_eq!(
        (error.kind, error.message.as_str()),
        (ModelFailureKind::ServerError, "server error (529): busy with [redacted]")
    );
    assert_eq!((error.code.as_deref(), error.request_id.as_deref()), (Some("overloaded_error"), Some("req_1")));
    assert_eq!(error.retry_after.map(|pause| pause.as_secs()), Some(20));
    assert!(error.address().is_some_and(|address| address.ends_with("/v1")), "{error:?}");
}

#[tokio::test]
async fn an_answer_over_the_limit_is_not_read_to_its_end() {
    let error = failure(ResponseTemplate::new(200).set_body_string("x".repeat(33 * 1024 * 1024))).await;
    assert_eq!((error.kind, error.should_retry()), (ModelFailureKind::ResponseTooLarge, false));
    assert!(error.message.ends_with("(agent \"clerk\", model \"anthropic::claude-sonnet-4-6\")"), "{}", error.message);
}

#[tokio::test]
async fn both_forms_of_a_message_become_the_same_response() -> anyhow::Result<()> {
    for Pair { name, whole, stream, .. } in &pairs_of("anthropic", OpenAiApi::Responses) {
        let cuts: Vec<usize> = (0..stream.len()).collect();
        let server = Server::start([Answer::json("200 OK", whole), Answer::stream(stream).cut(&cuts)])?;
        let model = model(Anthropic::builder().base_url(&server.url)).await;
        let settings = json!({"preserve_raw_usage": true});
        let called = model.call(hello(settings.clone())).await?;
        let (outcome, deltas) = streamed(&model, hello(settings)).await;
        let response = outcome.map_err(|error| anyhow::anyhow!("{name}: {error:?}"))?;
        assert_eq!(serde_json::to_value(&response)?, serde_json::to_value(&called)?, "{name}");
        assert_eq!(response.request_id.as_deref(), Some("req_1"), "{name}");
        assert_deltas_become_items(name, &deltas, &response.output);
    }
    Ok(())
}

#[tokio::test]
async fn a_whole_answer_to_the_request_for_a_stream_is_read() -> anyhow::Result<()> {
    let whole = json!({"content": [{"type": "text", "text": "hi"}], "stop_reason": "end_turn"});
    let server = Server::start([Answer::json("200 OK", &whole)])?;
    let (outcome, deltas) = streamed(&model(Anthropic::builder().base_url(&server.url)).await, hello(json!({}))).await;
    assert_eq!((outcome?.output[0].text().as_deref(), deltas.len()), (Some("hi"), 0));
    Ok(())
}
