//! Tests of the two projections of the Responses API, which compare whole bodies.

use std::sync::Arc;

use reqwest::{StatusCode, header::HeaderMap};
use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents_core::wire::{
    Definitions, HandoffSpec, Item, ModelCall, ModelFailureKind, ModelResponse, ModelSettings, ToolChoice, ToolSpec,
    Usage,
};

use super::{request, response};
use crate::provider::{
    ModelError,
    http::{answer::Answer, outgoing::Outgoing, redact::Redactor},
};

fn call_with(definitions: Definitions) -> ModelCall {
    ModelCall::new("agent", "gpt-5", definitions, vec![Item::user("hi")])
}

fn settings(settings: Value) -> ModelSettings {
    serde_json::from_value(settings).expect("settings of this shape")
}

fn project(call: ModelCall) -> Outgoing {
    request::project("gpt-5", call).expect("a call that can be sent")
}

fn body_with(over: Value) -> Value {
    Value::Object(project(call_with(Definitions { settings: settings(over), ..Definitions::default() })).body)
}

fn refusal(over: Value) -> ModelError {
    let definitions = Definitions { settings: settings(over), ..Definitions::default() };
    request::project("gpt-5", call_with(definitions)).expect_err("a refusal")
}

fn function(name: &str) -> ToolSpec {
    ToolSpec::Function {
        name: name.into(),
        description: "d".into(),
        parameters: json!({"type": "object"}).into(),
        strict: true,
    }
}

fn answer(body: &Value) -> Answer {
    Answer {
        status: StatusCode::OK,
        headers: HeaderMap::new(),
        body: body.to_string().into_bytes(),
        redactor: Arc::new(Redactor::new(Vec::new())),
        place: None,
    }
}

fn read(body: &Value) -> Result<ModelResponse, ModelError> {
    response::project(&answer(body), true)
}

#[test]
fn the_smallest_call_sends_the_model_and_the_input() {
    assert_eq!(
        Value::Object(project(call_with(Definitions::default())).body),
        json!({"model": "gpt-5", "input": [{"role": "user", "content": "hi"}]})
    );
}

#[test]
fn what_chat_completions_servers_keep_stays_away() {
    let items = [
        json!({"type": "message", "role": "assistant", "content": "a", "provider_data": {"x": 1}}),
        json!({"type": "reasoning", "summary": [], "provider_data": {"reasoning_content": "r"}}),
        json!({"type": "reasoning", "id": "rs_1", "summary": []}),
    ];
    let input = items.into_iter().map(|item| Item::try_from(item).expect("an object")).collect();
    let outgoing = project(ModelCall::new("agent", "gpt-5", Definitions::default(), input));
    assert_eq!(
        outgoing.body["input"],
        json!([
            {"type": "message", "role": "assistant", "content": "a"},
            {"type": "reasoning", "id": "rs_1", "summary": []},
        ])
    );
}

#[rstest]
#[case::auto("auto", json!("auto"))]
#[case::required("required", json!("required"))]
#[case::none("none", json!("none"))]
#[case::function("get_weather", json!({"type": "function", "name": "get_weather"}))]
#[case::handoff("transfer_to_b", json!({"type": "function", "name": "transfer_to_b"}))]
#[case::hosted("web_search", json!({"type": "web_search"}))]
#[case::hosted_by_type("file_search", json!({"type": "file_search"}))]
#[case::newer_hosted("hologram", json!({"type": "hologram"}))]
#[case::function_before_hosted("shell", json!({"type": "function", "name": "shell"}))]
#[case::custom("sql", json!({"type": "custom", "name": "sql"}))]
#[case::unknown("nobody", json!({"type": "function", "name": "nobody"}))]
fn a_tool_choice_names_a_function_or_a_hosted_type(#[case] choice: &str, #[case] expected: Value) {
    let hosted = |name: &str| ToolSpec::Hosted {
        name: name.into(),
        config: [("type".to_owned(), json!(name))].into_iter().collect(),
    };
    let custom = match hosted("sql") {
        ToolSpec::Hosted { name, mut config } => {
            config.insert("type".to_owned(), json!("custom"));
            ToolSpec::Hosted { name, config }
        }
        function @ ToolSpec::Function { .. } => function,
    };
    let definitions = Definitions {
        tools: vec![function("get_weather"), function("shell"), hosted("web_search"), hosted("hologram"), custom],
        handoffs: vec![HandoffSpec {
            tool_name: "transfer_to_b".into(),
            tool_description: "d".into(),
            input_json_schema: json!({}).into(),
            strict: true,
            agent_name: "b".into(),
        }],
        settings: ModelSettings::builder().tool_choice(ToolChoice::from(choice)).build(),
        ..Definitions::default()
    };
    assert_eq!(project(call_with(definitions)).body["tool_choice"], expected);
}

#[test]
fn a_hosted_mcp_tool_is_chosen_with_its_server() {
    let body = body_with(json!({"tool_choice": {"server_label": "s", "name": "n"}}));
    assert_eq!(body["tool_choice"], json!({"type": "mcp", "server_label": "s", "name": "n"}));
}

#[test]
fn parallel_calls_are_mentioned_only_beside_tools() {
    let settings = ModelSettings::builder().parallel_tool_calls(false).build();
    let with_tools = Definitions { tools: vec![function("f")], settings: settings.clone(), ..Definitions::default() };
    assert_eq!(project(call_with(with_tools)).body["parallel_tool_calls"], json!(false));
    let without = Definitions { settings, ..Definitions::default() };
    assert_eq!(project(call_with(without)).body.get("parallel_tool_calls"), None);
}

#[test]
fn log_probabilities_are_included_once() {
    let logprobs = "message.output_text.logprobs";
    assert_eq!(body_with(json!({"top_logprobs": 2}))["include"], json!([logprobs]));
    let asked = json!({"top_logprobs": 2, "response_include": ["a", logprobs]});
    assert_eq!(body_with(asked)["include"], json!(["a", logprobs]));
}

#[test]
fn extras_are_merged_last_and_the_body_wins() {
    let body = body_with(json!({
        "temperature": 0.5,
        "extra_args": {"temperature": 0.6, "service_tier": "flex", "user": "a"},
        "extra_body": {"user": "b"},
    }));
    assert_eq!(body["temperature"], json!(0.6));
    assert_eq!((&body["service_tier"], &body["user"]), (&json!("flex"), &json!("b")));
}

#[test]
fn extra_headers_and_parameters_go_around_the_body() {
    let over = json!({
        "extra_headers": {"X-A": "1", "X-Number": 2, "X-Absent": null},
        "extra_query": {"a": "1 2", "list": ["x", 3], "absent": null},
    });
    let outgoing = project(call_with(Definitions { settings: settings(over), ..Definitions::default() }));
    assert_eq!(outgoing.headers.len(), 2);
    assert!(outgoing.headers["x-a"] == "1" && outgoing.headers["x-number"] == "2");
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(outgoing.query, [pair("a", "1 2"), pair("list", "x"), pair("list", "3")]);
}

#[rstest]
#[case(json!({"frequency_penalty": 0.5}), "unsupported: the Responses API has no `frequency_penalty`; remove it")]
#[case(json!({"presence_penalty": 0.0}), "unsupported: the Responses API has no `presence_penalty`; remove it")]
#[case(
    json!({"extra_body": {"stream": true}}),
    "unsupported: `stream` in the extra arguments: a model call is one request and one response"
)]
fn what_the_api_cannot_do_is_refused_by_name(#[case] over: Value, #[case] message: &str) {
    let error = refusal(over);
    assert_eq!((error.kind, error.message.as_str()), (ModelFailureKind::Unsupported, message));
    assert!(!error.should_retry());
}

#[test]
fn a_header_that_http_cannot_carry_is_named_without_its_value() {
    let error = refusal(json!({"extra_headers": {"X-A": "line\nbreak"}}));
    assert_eq!(error.kind, ModelFailureKind::BadRequest);
    assert_eq!(error.message, "bad request: the extra header \"X-A\" is invalid in HTTP");
}

#[test]
fn a_response_is_read_whole() {
    let output = json!([
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"},
        {"type": "hologram_call", "id": "h_1", "beam": {"colour": "red"}},
        {"type": "message", "id": "msg_1", "role": "assistant", "new_field": [1],
         "content": [{"type": "output_text", "text": "hi", "annotations": []}]},
    ]);
    let usage = json!({
        "input_tokens": 10,
        "input_tokens_details": {"cached_tokens": 3, "cache_write_tokens": 2},
        "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 4},
        "total_tokens": 16,
        "new_count": 1,
    });
    let response = read(&json!({
        "id": "resp_1", "object": "response", "status": "completed", "error": null, "output": output, "usage": usage,
    }))
    .expect("a complete response");
    assert_eq!(serde_json::to_value(&response.output).expect("items are JSON"), output);
    let mut expected = Usage { requests: 1, input_tokens: 10, output_tokens: 5, total_tokens: 16, ..Usage::default() };
    expected.input_tokens_details.cached_tokens = 3;
    expected.input_tokens_details.cache_write_tokens = 2;
    expected.output_tokens_details.reasoning_tokens = 4;
    assert_eq!(response.usage, expected);
    assert_eq!((response.response_id.as_deref(), response.incomplete), (Some("resp_1"), None));
    assert_eq!(response.raw_usage, Some(usage));
}

#[test]
fn a_response_without_usage_is_one_request() {
    let response = read(&json!({"output": [], "usage": null})).expect("a response");
    assert_eq!(
        response,
        ModelResponse {
            usage: Usage { requests: 1, ..Usage::default() },
            incomplete: Some("empty".to_owned()),
            ..ModelResponse::default()
        }
    );
}

fn message(text: &str) -> Value {
    json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]})
}

#[test]
fn an_incomplete_response_says_why() {
    let body = json!({
        "status": "incomplete",
        "incomplete_details": {"reason": "max_output_tokens"},
        "output": [],
    });
    assert_eq!(read(&body).expect("a response").incomplete.as_deref(), Some("max_output_tokens"));
    let body = json!({"status": "incomplete", "output": [message("Once")]});
    assert_eq!(read(&body).expect("a response").incomplete.as_deref(), Some("max_output_tokens"));
    let mut cut = json!({"type": "function_call", "call_id": "c", "name": "f", "arguments": "{\"a"});
    cut["status"] = "incomplete".into();
    assert_eq!(read(&json!({"output": [cut]})).expect("a response").incomplete.as_deref(), Some("max_output_tokens"));
}

#[test]
fn a_status_nobody_knows_is_taken_for_complete() {
    let body = json!({"status": "splendid", "output": [message("Once")]});
    assert_eq!(read(&body).expect("a response").incomplete, None);
}

#[rstest]
#[case(json!({"status": "failed", "output": []}), ModelFailureKind::ResponseFailed, "response failed (200): the response is failed")]
#[case(json!({"status": "cancelled", "output": []}), ModelFailureKind::ResponseFailed, "response failed (200): the response is cancelled")]
#[case(
    json!({"status": "queued", "output": []}),
    ModelFailureKind::Unsupported,
    "unsupported: the response is queued: background responses are not waited for"
)]
#[case(json!({}), ModelFailureKind::InvalidResponse, "invalid response (200): the response has no output: {}")]
#[case(
    json!({"output": [1]}),
    ModelFailureKind::InvalidResponse,
    "invalid response (200): a conversation item must be a JSON object, found a number: {\"output\":[1]}"
)]
fn what_is_no_finished_response_is_a_failure(
    #[case] body: Value,
    #[case] kind: ModelFailureKind,
    #[case] message: &str,
) {
    let error = read(&body).expect_err("a failure");
    assert_eq!((error.kind, error.message.as_str()), (kind, message));
}

#[test]
fn stream_cut_anywhere_is_whole_or_an_error() {
    let streams =
        crate::provider::http::streaming::prefixes::check::<super::events::ResponseEvents>("responses", |answer| {
            response::project(answer, false)
        });
    assert!(streams >= 9, "{streams} streams");
}
