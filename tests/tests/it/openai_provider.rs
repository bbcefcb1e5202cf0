//! The OpenAI provider against an HTTP server: what is sent, what comes back, what a failure says.

use std::{sync::Arc, time::Duration};

use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{
    provider::{Azure, Model, ModelError, ModelProvider, OpenAi, OpenAiApi, OpenAiBuilder},
    wire::{Definitions, Item, ModelCall, ModelFailureKind, ModelResponse, ModelSettings, Prompt, Schema, ToolSpec},
};
use tokio::net::{TcpListener, TcpStream};
use wiremock::{Mock, MockServer, Request, ResponseTemplate, matchers};

use crate::support::read;

const KEY: &str = "the-secret-key";

fn builder(server: &MockServer) -> OpenAiBuilder {
    OpenAi::builder().api_key(KEY).base_url(format!("{}/v1", server.uri()))
}

async fn model(builder: OpenAiBuilder) -> Arc<dyn Model> {
    let provider = builder.build().expect("a complete configuration");
    provider.model("a-model").await.expect("no credentials to fetch").expect("every name is served")
}

fn hello() -> ModelCall {
    ModelCall::new("agent", "a-model", Definitions::default(), vec![Item::user("hi")])
}

fn settings(settings: Value) -> ModelSettings {
    serde_json::from_value(settings).expect("settings of this shape")
}

fn ok() -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(json!({"id": "resp_1", "status": "completed", "output": []}))
}

async fn server(response: ResponseTemplate) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(matchers::any()).respond_with(response).mount(&server).await;
    server
}

/// Calls through OpenAI's own API; the only request of the call comes with its outcome.
async fn exchange(call: ModelCall, response: ResponseTemplate) -> (Request, Result<ModelResponse, ModelError>) {
    let server = server(response).await;
    let outcome = model(builder(&server)).await.call(call).await;
    (only_request(&server).await, outcome)
}

async fn only_request(server: &MockServer) -> Request {
    let mut requests = server.received_requests().await.expect("requests are recorded");
    assert_eq!(requests.len(), 1, "one call is one request");
    requests.remove(0)
}

async fn failure(response: ResponseTemplate) -> ModelError {
    exchange(hello(), response).await.1.expect_err("a failure")
}

fn body(request: &Request) -> Value {
    request.body_json().expect("a JSON body")
}

fn header<'a>(request: &'a Request, name: &str) -> Option<&'a str> {
    request.headers.get(name).map(|value| value.to_str().expect("a text header"))
}

#[tokio::test]
async fn the_smallest_call_is_one_small_request() {
    let (request, response) = exchange(hello(), ok().insert_header("x-request-id", "req_1")).await;
    assert_eq!((request.method.as_str(), request.url.path(), request.url.query()), ("POST", "/v1/responses", None));
    assert_eq!(header(&request, "authorization"), Some("Bearer the-secret-key"));
    assert_eq!(header(&request, "content-type"), Some("application/json"));
    assert!(header(&request, "user-agent").is_some_and(|agent| agent.starts_with("temporal-agents/")));
    assert_eq!(body(&request), json!({"model": "a-model", "input": [{"role": "user", "content": "hi"}]}));
    let response = response.expect("a response");
    assert_eq!(response.response_id.as_deref(), Some("resp_1"));
    assert_eq!(response.request_id.as_deref(), Some("req_1"));
    assert_eq!(response.usage.requests, 1);
}

/// A schema that fits strict mode.
fn closed() -> Schema {
    json!({
        "type": "object",
        "properties": {"b": {"type": "null"}, "a": {"type": "null"}},
        "required": ["b", "a"],
        "additionalProperties": false,
    })
    .into()
}

/// Definitions in which nothing the Responses API knows is left out.
fn full_definitions() -> Definitions {
    Definitions {
        instructions: Some("be brief".into()),
        prompt: Some(Prompt::new("pmpt_1").version("2").variable("city", "Oslo")),
        tools: vec![
            ToolSpec::Function {
                name: "get_weather".into(),
                description: "Weather".into(),
                parameters: closed(),
                strict: true,
            },
            ToolSpec::Hosted {
                name: "web_search".into(),
                config: [("type".to_owned(), json!("web_search")), ("size".to_owned(), json!("low"))]
                    .into_iter()
                    .collect(),
            },
        ],
        handoffs: vec![read(json!({
            "tool_name": "transfer_to_refunds",
            "tool_description": "Refunds",
            "input_json_schema": {"type": "object"},
            "strict": false,
            "agent_name": "refunds",
        }))],
        output: Some(read(json!({"name": "final_output", "schema": closed(), "strict": true}))),
        settings: settings(json!({
            "temperature": 0.5,
            "top_p": 0.25,
            "tool_choice": "web_search",
            "parallel_tool_calls": false,
            "truncation": "auto",
            "max_tokens": 100,
            "reasoning": {"effort": "low", "summary": "auto"},
            "verbosity": "high",
            "metadata": {"a": "b"},
            "store": false,
            "prompt_cache_retention": "24h",
            "include_usage": true,
            "response_include": ["reasoning.encrypted_content"],
            "top_logprobs": 3,
            "extra_query": {"trace": "1"},
            "extra_body": {"service_tier": "flex"},
            "extra_headers": {"X-Extra": "yes"},
            "extra_args": {"service_tier": "auto", "user": "u"},
            "retry": {"max_retries": 2},
            "context_management": [{"type": "compaction"}],
            "prompt_cache_options": {"ttl": "1h"},
            "preserve_raw_usage": true,
            "timeout": 10.0,
        })),
    }
}

#[tokio::test]
async fn every_part_of_a_call_has_its_place() {
    let mut call = ModelCall::new("agent", "a-model", full_definitions(), vec![Item::user("hi")]);
    call.previous_response_id = Some("resp_0".into());
    call.conversation_id = Some("conv_1".into());

    let (request, response) = exchange(call, ok()).await;
    response.expect("a response");
    assert_eq!(request.url.query(), Some("trace=1"));
    assert_eq!(header(&request, "x-extra"), Some("yes"));
    assert_eq!(
        body(&request),
        json!({
            "model": "a-model",
            "input": [{"role": "user", "content": "hi"}],
            "instructions": "be brief",
            "prompt": {"id": "pmpt_1", "version": "2", "variables": {"city": "Oslo"}},
            "previous_response_id": "resp_0",
            "conversation": "conv_1",
            "tools": [
                {
                    "type": "function",
                    "name": "get_weather",
                    "description": "Weather",
                    "parameters": closed(),
                    "strict": true,
                },
                {"type": "web_search", "size": "low"},
                {
                    "type": "function",
                    "name": "transfer_to_refunds",
                    "description": "Refunds",
                    "parameters": {"type": "object", "properties": {}},
                    "strict": false,
                },
            ],
            "tool_choice": {"type": "web_search"},
            "text": {
                "format": {
                    "type": "json_schema",
                    "name": "final_output",
                    "schema": closed(),
                    "strict": true,
                },
                "verbosity": "high",
            },
            "temperature": 0.5,
            "top_p": 0.25,
            "parallel_tool_calls": false,
            "truncation": "auto",
            "max_output_tokens": 100,
            "reasoning": {"effort": "low", "summary": "auto"},
            "metadata": {"a": "b"},
            "store": false,
            "prompt_cache_retention": "24h",
            "include": ["reasoning.encrypted_content", "message.output_text.logprobs"],
            "top_logprobs": 3,
            "context_management": [{"type": "compaction"}],
            "prompt_cache_options": {"ttl": "1h"},
            "service_tier": "flex",
            "user": "u",
        })
    );
}

#[tokio::test]
async fn key_order_of_schemas_reaches_the_server() {
    let tool = ToolSpec::Function {
        name: "f".into(),
        description: String::new(),
        parameters: json!({"type": "object", "properties": {"z": {}, "a": {}}}).into(),
        strict: true,
    };
    let definitions = Definitions { tools: vec![tool], ..Definitions::default() };
    let call = ModelCall::new("a", "a-model", definitions, Vec::new());
    let (request, _) = exchange(call, ok()).await;
    let text = String::from_utf8(request.body).expect("UTF-8");
    assert!(text.contains(r#""properties":{"z":{},"a":{}}"#), "{text}");
}

#[tokio::test]
async fn items_pass_verbatim_both_ways() {
    let items = json!([
        {"type": "hologram_call", "id": "h_1", "status": "completed", "beam": {"z": 1, "a": [null, 1.5]}},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"},
        {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant", "phase": "final", "content": [
            {"type": "output_text", "text": "hi", "annotations": [], "logprobs": [], "tone": "warm"},
            {"type": "output_smell", "smell": "roses"},
        ]},
        {"type": "function_call", "id": "fc_1", "call_id": "c_1", "name": "f", "arguments": "{}", "caller": {"a": 1}},
        {"type": "function_call_output", "call_id": "c_1", "output": "1"},
        {"no_type": true},
    ]);
    let input: Vec<Item> = serde_json::from_value(items.clone()).expect("items are objects");
    let response = ResponseTemplate::new(200).set_body_json(json!({"output": items, "new_member": 1}));
    let (request, _) = exchange(ModelCall::new("a", "a-model", Definitions::default(), input), ok()).await;
    assert_eq!(body(&request)["input"].to_string(), items.to_string());
    let call = ModelCall::new("a", "a-model", Definitions::default(), vec![Item::user("hi")]);
    let (_, response) = exchange(call, response).await;
    let output = serde_json::to_value(response.expect("a response").output).expect("items are JSON");
    assert_eq!(output.to_string(), items.to_string());
}

#[rstest]
#[case(400, ModelFailureKind::BadRequest, false, "bad request (400): why")]
#[case(401, ModelFailureKind::Authentication, false, "authentication failed (401): why")]
#[case(404, ModelFailureKind::NotFound, false, "not found (404): why")]
#[case(408, ModelFailureKind::Timeout, true, "timed out (408): why")]
#[case(409, ModelFailureKind::Conflict, true, "conflict (409): why")]
#[case(413, ModelFailureKind::RequestTooLarge, false, "request too large (413): why")]
#[case(422, ModelFailureKind::BadRequest, false, "bad request (422): why")]
#[case(429, ModelFailureKind::RateLimit, true, "rate limited (429): why")]
#[case(500, ModelFailureKind::ServerError, true, "server error (500): why")]
#[case(503, ModelFailureKind::ServerError, true, "server error (503): why")]
#[tokio::test]
async fn a_failed_request_keeps_all_the_server_said(
    #[case] status: u16,
    #[case] kind: ModelFailureKind,
    #[case] retried: bool,
    #[case] message: &str,
) {
    let body = json!({"error": {"message": "why", "type": "some_error", "param": null, "code": "some_code"}});
    let error = failure(ResponseTemplate::new(status).insert_header("x-request-id", "req_1").set_body_json(body)).await;
    assert_eq!((error.kind, error.should_retry(), error.message.as_str()), (kind, retried, message));
    assert_eq!((error.status, error.code.as_deref()), (Some(status), Some("some_code")));
    assert_eq!(error.request_id.as_deref(), Some("req_1"));
    assert_eq!(error.retryable, None);
}

#[rstest]
#[case::seconds("retry-after", "20", 20_000)]
#[case::fraction("retry-after", "0.5", 500)]
#[case::milliseconds("retry-after-ms", "1250", 1_250)]
#[case::past_date("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT", 0)]
#[tokio::test]
async fn the_pause_the_server_asks_for_is_kept(#[case] name: &str, #[case] value: &str, #[case] milliseconds: u64) {
    let error = failure(ResponseTemplate::new(429).insert_header(name, value)).await;
    assert_eq!(error.retry_after, Some(Duration::from_millis(milliseconds)));
}

#[tokio::test]
async fn a_date_in_the_future_is_a_pause_until_then() {
    let error = failure(ResponseTemplate::new(429).insert_header("retry-after", "Tue, 31 Dec 2999 23:59:59 GMT")).await;
    assert!(error.retry_after > Some(Duration::from_hours(1)), "{:?}", error.retry_after);
}

#[rstest]
#[case(429, "false", false)]
#[case(500, "false", false)]
#[case(400, "true", true)]
#[tokio::test]
async fn the_server_decides_whether_it_is_asked_again(#[case] status: u16, #[case] value: &str, #[case] retried: bool) {
    let error = failure(ResponseTemplate::new(status).insert_header("x-should-retry", value)).await;
    assert_eq!((error.retryable, error.should_retry()), (Some(retried), retried));
}

#[tokio::test]
async fn an_echoed_key_is_redacted() {
    let message = format!("Incorrect API key provided: {KEY}. Keys look like sk-proj-abc***xyz.");
    let error = failure(ResponseTemplate::new(401).set_body_json(json!({"error": {"message": message}}))).await;
    assert_eq!(
        error.message,
        "authentication failed (401): Incorrect API key provided: [redacted]. Keys look like [redacted]."
    );
    assert!(!format!("{error:?}").contains(KEY));
}

#[tokio::test]
async fn a_page_of_a_proxy_keeps_its_status() {
    let page = format!("<html>\n<body>{KEY} {}</body></html>", "blocked ".repeat(100));
    let error = failure(ResponseTemplate::new(403).set_body_raw(page, "text/html")).await;
    assert_eq!(error.kind, ModelFailureKind::PermissionDenied);
    let excerpt = error.message.strip_prefix("permission denied (403): ").expect("the prefix");
    assert!(excerpt.starts_with("<html> <body>[redacted] blocked "), "{excerpt}");
    assert!(excerpt.chars().count() <= 200 && !excerpt.contains('\n'), "{excerpt}");
}

#[rstest]
#[case::broken("{\"output\": [", "invalid response (200): the body is not JSON: {\"output\": [")]
#[case::empty("", "invalid response (200): the body is empty")]
#[case::no_output("{}", "invalid response (200): the response has no output: {}")]
#[tokio::test]
async fn a_success_that_is_no_response_is_a_failure(#[case] body: &str, #[case] message: &str) {
    let error = failure(ResponseTemplate::new(200).set_body_raw(body, "application/json")).await;
    assert_eq!((error.kind, error.message.as_str()), (ModelFailureKind::InvalidResponse, message));
    assert_eq!((error.status, error.should_retry()), (Some(200), true));
}

#[tokio::test]
async fn an_incomplete_response_is_an_answer_that_says_why() {
    let body = json!({
        "id": "resp_1",
        "status": "incomplete",
        "incomplete_details": {"reason": "content_filter"},
        "output": [{"type": "message", "role": "assistant", "content": []}],
    });
    let (_, response) = exchange(hello(), ResponseTemplate::new(200).set_body_json(body)).await;
    let response = response.expect("a response");
    assert_eq!(response.incomplete.as_deref(), Some("content_filter"));
    assert_eq!(response.output.len(), 1);
}

#[rstest]
#[case("server_error", ModelFailureKind::ServerError, "server error (200): sorry")]
#[case("rate_limit_exceeded", ModelFailureKind::RateLimit, "rate limited (200): sorry")]
#[case("vector_store_timeout", ModelFailureKind::ResponseFailed, "response failed (200): sorry")]
#[tokio::test]
async fn a_failed_response_is_a_failure(#[case] code: &str, #[case] kind: ModelFailureKind, #[case] message: &str) {
    let body = json!({"status": "failed", "error": {"code": code, "message": "sorry"}, "output": []});
    let error = failure(ResponseTemplate::new(200).insert_header("x-request-id", "req_1").set_body_json(body)).await;
    assert_eq!((error.kind, error.message.as_str(), error.code.as_deref()), (kind, message, Some(code)));
    assert_eq!(error.request_id.as_deref(), Some("req_1"));
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let error = failure(ResponseTemplate::new(307).insert_header("location", "/elsewhere")).await;
    assert_eq!((error.kind, error.status), (ModelFailureKind::BadRequest, Some(307)));
}

#[tokio::test]
async fn organization_project_and_headers_come_with_every_request() {
    let server = server(ok()).await;
    let builder = builder(&server).organization("org_1").project("proj_1").header("X-Gateway", "gate");
    model(builder).await.call(hello()).await.expect("a response");
    let request = only_request(&server).await;
    assert_eq!(header(&request, "openai-organization"), Some("org_1"));
    assert_eq!(header(&request, "openai-project"), Some("proj_1"));
    assert_eq!(header(&request, "x-gateway"), Some("gate"));
}

#[rstest]
#[case(OpenAiApi::Responses, "/openai/responses", json!({"model": "prod", "input": []}))]
#[case(
    OpenAiApi::ChatCompletions,
    "/openai/deployments/prod/chat/completions",
    json!({"model": "prod", "messages": []})
)]
#[tokio::test]
async fn azure_has_its_own_addresses(#[case] api: OpenAiApi, #[case] path: &str, #[case] sent: Value) {
    let answer = json!({"output": [], "choices": [{"message": {"role": "assistant", "content": ""}}]});
    let server = server(ResponseTemplate::new(200).set_body_json(answer)).await;
    let azure = Azure::new(server.uri(), "2025-04-01-preview").deployment("a-model", "prod");
    let model = model(OpenAi::builder().api_key(KEY).azure(azure).api(api)).await;
    let mut call = ModelCall::new("agent", "a-model", Definitions::default(), Vec::new());
    call.definitions.settings = settings(json!({"extra_query": {"a": "b"}}));
    model.call(call).await.expect("a response");
    let request = only_request(&server).await;
    assert_eq!((request.url.path(), request.url.query()), (path, Some("api-version=2025-04-01-preview&a=b")));
    assert_eq!((header(&request, "api-key"), header(&request, "authorization")), (Some(KEY), None));
    assert_eq!(body(&request), sent);
}

#[tokio::test]
async fn a_chat_completion_comes_back_as_it_was_said() {
    let message = json!({
        "role": "assistant",
        "content": null,
        "refusal": null,
        "reasoning_content": "hm",
        "tool_calls": [{"id": "c_1", "type": "function", "function": {"name": "f", "arguments": "{\"a\":1}"}}],
    });
    let answer = json!({
        "id": "chatcmpl-1",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7},
    });
    let server = server(ResponseTemplate::new(200).insert_header("x-request-id", "req_1").set_body_json(answer)).await;
    let chat = model(builder(&server).api(OpenAiApi::ChatCompletions)).await;

    let response = chat.call(hello()).await.expect("a response");
    assert_eq!(response.request_id.as_deref(), Some("req_1"));
    assert_eq!((response.usage.input_tokens, response.usage.total_tokens), (3, 7));
    assert_eq!(response.output.last().and_then(Item::call_id), Some("c_1"));

    let mut input = vec![Item::user("hi")];
    input.extend(response.output);
    input.push(Item::function_call_output("c_1", json!("42")));
    chat.call(ModelCall::new("agent", "a-model", Definitions::default(), input)).await.expect("a response");

    let requests = server.received_requests().await.expect("requests are recorded");
    let paths: Vec<&str> = requests.iter().map(|request| request.url.path()).collect();
    assert_eq!(paths, ["/v1/chat/completions", "/v1/chat/completions"]);
    assert_eq!(
        body(&requests[1])["messages"],
        json!([
            {"role": "user", "content": "hi"},
            {
                "role": "assistant",
                "content": null,
                "reasoning_content": "hm",
                "tool_calls": [{"id": "c_1", "type": "function", "function": {"name": "f", "arguments": "{\"a\":1}"}}],
            },
            {"role": "tool", "tool_call_id": "c_1", "content": "42"},
        ])
    );
}

#[tokio::test]
async fn a_name_that_is_not_served_is_left_to_the_next_provider() {
    let provider = OpenAi::builder()
        .api_key(KEY)
        .base_url("http://localhost:1")
        .serving(|name| name.starts_with("gpt-"))
        .build()
        .expect("a complete configuration");
    assert!(provider.model("gpt-5").await.expect("no failure").is_some());
    assert!(provider.model("claude").await.expect("no failure").is_none());
    assert!(!format!("{provider:?}").contains(KEY));
}

#[tokio::test]
async fn a_server_that_is_not_there_is_a_failed_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("a bound port");
    drop(listener);
    let model = model(OpenAi::builder().api_key(KEY).base_url(format!("http://{address}/v1"))).await;
    let error = model.call(hello()).await.expect_err("nobody listens");
    assert_eq!((error.kind, error.status, error.should_retry()), (ModelFailureKind::Connection, None, true));
    assert!(error.message.starts_with("connection failed: "), "{}", error.message);
}

#[tokio::test]
async fn an_answer_that_takes_too_long_is_a_timeout() {
    let (listener, builder) = silent_server().await;
    let model = model(builder.timeout(Duration::from_millis(50))).await;
    let error = model.call(hello()).await.expect_err("nobody answers");
    assert_eq!((error.kind, error.should_retry()), (ModelFailureKind::Timeout, true));
    drop(listener);
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_a_failed_connection() {
    let (listener, builder) = silent_server().await;
    let model = model(builder).await;
    let half_an_answer = async {
        let (socket, _) = listener.accept().await.expect("a connection");
        read_some(&socket).await;
        socket.try_write(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{").expect("the start fits the buffer");
    };
    let (outcome, ()) = tokio::join!(model.call(hello()), half_an_answer);
    let error = outcome.expect_err("the answer is cut");
    assert_eq!((error.kind, error.should_retry()), (ModelFailureKind::Connection, true));
}

#[tokio::test]
async fn dropping_a_call_cancels_its_request() {
    let (listener, builder) = silent_server().await;
    let model = model(builder).await;
    let socket = {
        let mut call = model.call(hello());
        let request = async {
            let (socket, _) = listener.accept().await.expect("a connection");
            assert_ne!(read_some(&socket).await, 0, "the request arrives");
            socket
        };
        tokio::select! {
            socket = request => socket,
            outcome = &mut call => panic!("nobody answered, but: {outcome:?}"),
        }
    };
    let closed = async { while read_some(&socket).await != 0 {} };
    tokio::time::timeout(Duration::from_secs(10), closed).await.expect("the connection is closed");
}

/// A server that accepts connections, and leaves it to the test to answer.
async fn silent_server() -> (TcpListener, OpenAiBuilder) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("a bound port");
    (listener, OpenAi::builder().api_key(KEY).base_url(format!("http://{address}/v1")))
}

/// Reads what has arrived, waiting for the first byte; 0 when the connection is closed.
async fn read_some(socket: &TcpStream) -> usize {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        socket.readable().await.expect("a socket");
        match socket.try_read(&mut buffer) {
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            read => return read.unwrap_or(0),
        }
    }
}
