//! The projection in both directions; `tests/tests/it/anthropic_provider` has the exchange.

use reqwest::StatusCode;
use serde_json::{Value, json};
use temporal_agents_core::wire::{Definitions, Item, ToolSpec};

use super::*;
use crate::provider::http::{answer::Answer, redact::Redactor};

const CLAUDE: &str = "claude-sonnet-4-5";

fn items(items: Value) -> Vec<Item> {
    serde_json::from_value(items).expect("items are objects")
}

fn model(name: &str) -> MessagesModel {
    let provider = Anthropic::builder().api_key("k").base_url("http://localhost:1").build().expect("a configuration");
    MessagesModel { name: name.to_owned(), model: without_namespace(name).to_owned(), server: provider.server }
}

/// Returns the body of the request for a call.
fn body(name: &str, definitions: Definitions, input: Value) -> Value {
    let call = ModelCall::new("clerk", name, definitions, items(input));
    Value::Object(model(name).outgoing(call).expect("a request").body)
}

fn messages(input: Value) -> Value {
    body(CLAUDE, Definitions::default(), input)["messages"].take()
}

fn with_settings(settings: Value) -> Definitions {
    Definitions { settings: serde_json::from_value(settings).expect("settings"), ..Definitions::default() }
}

/// Returns the response that an answer with these blocks becomes.
fn read(content: Value, stop_reason: &str) -> Result<ModelResponse, ModelError> {
    let body = json!({"content": content, "stop_reason": stop_reason}).to_string().into_bytes();
    let headers = reqwest::header::HeaderMap::from_iter([(
        reqwest::header::HeaderName::from_static("request-id"),
        reqwest::header::HeaderValue::from_static("req_1"),
    )]);
    let redactor = Arc::new(Redactor::new(Vec::new()));
    response::project("anthropic", &Answer { status: StatusCode::OK, headers, body, redactor, place: None }, false)
}

#[test]
fn each_block_goes_back_to_its_place() {
    let thinking = |text: &str, signature: &str| json!({"type": "thinking", "thinking": text, "signature": signature});
    let content = json!([
        thinking("hm", "s1"),
        {"type": "redacted_thinking", "data": "Em8="},
        {"type": "text", "text": "One moment."},
        thinking("", "s2"),
        {"type": "hologram", "beam": {"a": 1}},
        {"type": "text", "text": "So."},
        {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"x": [1, null]}},
        {"type": "tool_use", "id": "toolu_2", "name": "g", "input": {}},
    ]);
    let response = read(content.clone(), "tool_use").expect("a response");
    assert_eq!(response.request_id.as_deref(), Some("req_1"));
    let kinds: Vec<&str> = response.output.iter().map(Item::kind).collect();
    assert_eq!(kinds, ["reasoning", "message", "reasoning", "message", "function_call", "function_call"]);

    let mut input = vec![Item::user("hi")];
    input.extend(response.output);
    input.push(Item::function_call_output("toolu_1", json!("42")));
    input.push(Item::failed_function_call_output("toolu_2", json!("no")));
    assert_eq!(
        messages(serde_json::to_value(input).expect("items are JSON")),
        json!([
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": content},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": "42"},
                {"type": "tool_result", "tool_use_id": "toolu_2", "content": "no", "is_error": true},
            ]},
        ])
    );
}

#[test]
fn thoughts_that_were_stored_earlier_are_sent() {
    let input = json!([
        {"role": "user", "content": "hi"},
        {
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": "hm"}],
            "provider_data": {"genai": {"adapter": "anthropic", "thoughts": [
                {"signature": "sig1"}, {"summary": 0}, {"block": {"type": "redacted_thinking", "data": "Em8="}},
            ]}},
        },
        {"type": "message", "role": "assistant", "content": "Hello."},
        {"role": "user", "content": "and?"},
    ]);
    assert_eq!(
        messages(input)[1],
        json!({"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm", "signature": "sig1"},
            {"type": "redacted_thinking", "data": "Em8="},
            {"type": "text", "text": "Hello."},
        ]})
    );
}

#[test]
fn a_message_does_not_end_in_thinking() {
    let thought = |adapter: &str| {
        json!({
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": "hm"}],
            "provider_data": {"genai": {"adapter": adapter, "thoughts": [{"signature": "s"}, {"summary": 0}]}},
        })
    };
    let of = |adapter: &str| {
        let said = json!({"role": "assistant", "content": "Hello."});
        messages(json!([{"role": "user", "content": "hi"}, said, thought(adapter), {"role": "user", "content": "?"}]))
    };
    assert_eq!(of("anthropic")[1], json!({"role": "assistant", "content": "Hello."}));
    assert_eq!(of("anthropic"), of("gemini"));
}

#[test]
fn a_turn_of_another_model_is_continued_without_thinking() {
    let input = json!([
        {"role": "user", "content": "hi"},
        {"type": "function_call", "call_id": "c_1", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c_1", "output": "42"},
    ]);
    let sent = body("anthropic::claude-sonnet-4-5-low", Definitions::default(), input.clone());
    assert_eq!((&sent["model"], &sent["thinking"]), (&json!(CLAUDE), &Value::Null));
    let adaptive = body("claude-sonnet-4-6-low", Definitions::default(), input);
    assert_eq!(adaptive["thinking"], json!({"type": "adaptive"}));
    let begun = body("claude-sonnet-4-5-low", Definitions::default(), json!([{"role": "user", "content": "hi"}]));
    assert_eq!(begun["thinking"], json!({"type": "enabled", "budget_tokens": 1024}));
}

#[test]
fn what_the_system_says_is_in_one_place() {
    let input = json!([
        {"role": "system", "content": "rules"},
        {"role": "user", "content": "hi"},
        {"role": "developer", "content": [{"type": "input_text", "text": "more"}]},
    ]);
    let mut definitions = Definitions { instructions: Some("be brief".into()), ..Definitions::default() };
    let sent = body(CLAUDE, definitions.clone(), input.clone());
    assert_eq!(sent["system"], "be brief\n\nrules\n\nmore");
    assert_eq!(sent["messages"], json!([{"role": "user", "content": "hi"}]));
    definitions.settings = with_settings(json!({"prompt_cache_retention": "in_memory"})).settings;
    assert_eq!(body(CLAUDE, definitions, input)["system"][2]["cache_control"], json!({"type": "ephemeral"}));
}

#[test]
fn the_cache_ends_with_the_tools_if_there_are_no_instructions() {
    let mut definitions = with_settings(json!({"prompt_cache_retention": "1h", "parallel_tool_calls": false}));
    definitions.tools = vec![ToolSpec::Function {
        // A tool of the provider's own has a type besides.
        name: "web_search".into(),
        description: "Searches".into(),
        parameters: json!({"type": "object", "properties": {}}).into(),
        strict: false,
    }];
    let sent = body(CLAUDE, definitions, json!([{"role": "user", "content": "hi"}]));
    assert_eq!(
        sent["tools"],
        json!([{
            "name": "web_search",
            "description": "Searches",
            "input_schema": {"type": "object", "properties": {}},
            "cache_control": {"type": "ephemeral", "ttl": "1h"},
        }])
    );
    assert_eq!(sent["tool_choice"], json!({"type": "auto", "disable_parallel_tool_use": true}));
}

#[test]
fn text_files_are_text() {
    let file = |media_type: &str| {
        let part =
            json!({"type": "input_file", "file_data": format!("data:{media_type};base64,aGk="), "filename": "a"});
        messages(json!([{"role": "user", "content": [part]}]))[0]["content"][0]["source"].take()
    };
    assert_eq!(file("text/csv"), json!({"type": "text", "media_type": "text/plain", "data": "hi"}));
    assert_eq!(file("application/pdf"), json!({"type": "base64", "media_type": "application/pdf", "data": "aGk="}));
}

#[test]
fn arguments_are_kept_as_they_came() {
    let call = |input: Value| {
        let response = read(json!([{"type": "tool_use", "id": "t", "name": "f", "input": input}]), "tool_use");
        response.expect("a response").output[0].get("arguments").cloned()
    };
    assert_eq!(call(json!({})), Some(json!("{}")));
    assert_eq!(call(Value::Null), Some(json!("{}")));
    assert_eq!(call(json!({"b": 1, "a": 2.5})), Some(json!(r#"{"b":1,"a":2.5}"#)));
    // The events of a stream whose parts are no JSON together.
    assert_eq!(call(json!("{\"a\": ")), Some(json!("{\"a\": ")));
}

#[test]
fn token_counts_do_not_overflow() {
    let body = json!({"content": [], "stop_reason": "end_turn", "usage": {
        "input_tokens": u64::MAX, "cache_read_input_tokens": 1, "output_tokens": 7,
        "output_tokens_details": {"thinking_tokens": -3},
    }});
    let answer = Answer {
        status: StatusCode::OK,
        headers: reqwest::header::HeaderMap::new(),
        body: body.to_string().into_bytes(),
        redactor: Arc::new(Redactor::new(Vec::new())),
        place: None,
    };
    let usage = response::project("anthropic", &answer, false).expect("a response").usage;
    assert_eq!((usage.input_tokens, usage.total_tokens), (u64::MAX, u64::MAX));
    assert_eq!((usage.output_tokens, usage.output_tokens_details.reasoning_tokens), (7, 0));
}

#[test]
fn stream_cut_anywhere_is_whole_or_an_error() {
    let streams = crate::provider::http::streaming::prefixes::check::<MessageEvents>("anthropic", |answer| {
        response::project("anthropic", answer, false)
    });
    assert!(streams >= 10, "{streams} streams");
}
