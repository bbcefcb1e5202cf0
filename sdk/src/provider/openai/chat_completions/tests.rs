//! Tests of the two projections of Chat Completions, which compare whole bodies.

use std::sync::Arc;

use reqwest::{StatusCode, header::HeaderMap};
use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents_core::wire::{
    Definitions, HandoffSpec, Item, ModelCall, ModelFailureKind, ModelResponse, OutputSpec, ToolSpec, Usage,
};

use super::{request, response};
use crate::provider::{
    ModelError,
    http::{answer::Answer, redact::Redactor},
};

fn items(items: Value) -> Vec<Item> {
    serde_json::from_value(items).expect("items are objects")
}

fn messages(input: Value) -> Result<Value, ModelError> {
    let call = ModelCall::new("agent", "m", Definitions::default(), items(input));
    request::project("m", call).map(|outgoing| outgoing.body["messages"].clone())
}

fn definitions(settings: Value) -> Definitions {
    Definitions { settings: serde_json::from_value(settings).expect("settings"), ..Definitions::default() }
}

fn refusal(definitions: Definitions) -> ModelError {
    request::project("m", ModelCall::new("agent", "m", definitions, Vec::new())).expect_err("a refusal")
}

fn read(body: &Value) -> Result<ModelResponse, ModelError> {
    let answer = Answer {
        status: StatusCode::OK,
        headers: HeaderMap::new(),
        body: body.to_string().into_bytes(),
        redactor: Arc::new(Redactor::new(Vec::new())),
        place: None,
    };
    response::project(&answer, false)
}

fn output_of(message: &Value) -> Value {
    let response = read(&json!({"id": "c1", "choices": [{"message": message, "finish_reason": "stop"}]}));
    serde_json::to_value(response.expect("a completion").output).expect("items are JSON")
}

#[test]
fn the_smallest_call_sends_the_model_and_the_messages() {
    let call = ModelCall::new("agent", "m", Definitions::default(), vec![Item::user("hi")]);
    let outgoing = request::project("m", call).expect("a call that can be sent");
    assert_eq!(Value::Object(outgoing.body), json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]}));
}

#[test]
fn every_setting_has_its_place() {
    let definitions = Definitions {
        instructions: Some("be brief".into()),
        tools: vec![ToolSpec::Function {
            name: "f".into(),
            description: "d".into(),
            parameters: json!({"type": "object"}).into(),
            strict: true,
        }],
        handoffs: vec![HandoffSpec {
            tool_name: "transfer_to_b".into(),
            tool_description: "to b".into(),
            input_json_schema: json!({}).into(),
            strict: false,
            agent_name: "b".into(),
        }],
        output: Some(OutputSpec {
            name: "final_output".into(),
            schema: json!({"type": "object"}).into(),
            strict: true,
        }),
        ..definitions(json!({
            "temperature": 0.5, "top_p": 0.25, "frequency_penalty": 1.0, "presence_penalty": -1.0, "tool_choice": "f",
            "parallel_tool_calls": true, "max_tokens": 10, "reasoning": {"effort": "low", "summary": null},
            "verbosity": "low", "metadata": {"a": "b"}, "store": false, "prompt_cache_retention": "24h",
            "include_usage": true, "top_logprobs": 2, "extra_args": {"seed": 1}, "extra_body": {"top_k": 3},
            "retry": {"max_retries": 1}, "preserve_raw_usage": true, "timeout": 5.0,
        }))
    };
    let call = ModelCall::new("agent", "m", definitions, vec![Item::user("hi")]);
    let outgoing = request::project("m", call).expect("a call that can be sent");
    assert_eq!(
        Value::Object(outgoing.body),
        json!({
            "model": "m",
            "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hi"}],
            "tools": [
                {"type": "function",
                 "function": {"name": "f", "description": "d", "parameters": {"type": "object"}, "strict": true}},
                {"type": "function",
                 "function": {"name": "transfer_to_b", "description": "to b", "parameters": {}}},
            ],
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "final_output", "schema": {"type": "object"}, "strict": true},
            },
            "temperature": 0.5,
            "top_p": 0.25,
            "frequency_penalty": 1.0,
            "presence_penalty": -1.0,
            "tool_choice": {"type": "function", "function": {"name": "f"}},
            "parallel_tool_calls": true,
            "max_tokens": 10,
            "reasoning_effort": "low",
            "verbosity": "low",
            "metadata": {"a": "b"},
            "store": false,
            "prompt_cache_retention": "24h",
            "logprobs": true,
            "top_logprobs": 2,
            "seed": 1,
            "top_k": 3,
        })
    );
}

#[test]
fn one_assistant_message_holds_what_was_said_and_called() {
    let input = json!([
        {"role": "user", "content": "weather?"},
        {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant",
         "content": [{"type": "output_text", "text": "looking", "annotations": []}]},
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": "{}"},
        {"type": "function_call", "call_id": "c2", "name": "g", "arguments": "{\"a\":1}"},
        {"type": "function_call_output", "call_id": "c1", "output": "12"},
        {"type": "function_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "13"}]},
        {"type": "function_call", "call_id": "c3", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c3", "output": {"a": 1}},
        {"role": "assistant", "content": "twelve"},
        {"role": "assistant", "content": [{"type": "output_text", "text": "a"}, {"type": "output_text", "text": "b"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]},
    ]);
    let call = |id: &str, name: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    assert_eq!(
        messages(input).expect("messages"),
        json!([
            {"role": "user", "content": "weather?"},
            {"role": "assistant", "content": "looking", "tool_calls": [call("c1", "f", "{}"), call("c2", "g", "{\"a\":1}")]},
            {"role": "tool", "tool_call_id": "c1", "content": "12"},
            {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "13"}]},
            {"role": "assistant", "content": null, "tool_calls": [call("c3", "f", "{}")]},
            {"role": "tool", "tool_call_id": "c3", "content": "{\"a\":1}"},
            {"role": "assistant", "content": "twelve"},
            {"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
            {"role": "assistant", "refusal": "no", "content": null},
        ])
    );
}

#[test]
fn the_parts_of_a_user_message_are_translated() {
    let input = json!([{"type": "message", "role": "developer", "name": "bob", "content": [
        {"type": "input_text", "text": "t", "cache_control": {"type": "ephemeral"}},
        {"type": "input_image", "image_url": "https://x/y.png", "detail": "low", "file_id": null},
        {"type": "input_file", "filename": "a.pdf", "file_data": "data:,"},
        {"type": "input_video", "url": "https://x/y.mp4"},
    ]}]);
    assert_eq!(
        messages(input).expect("messages"),
        json!([{"role": "developer", "name": "bob", "content": [
            {"type": "text", "text": "t", "cache_control": {"type": "ephemeral"}},
            {"type": "image_url", "image_url": {"url": "https://x/y.png", "detail": "low"}},
            {"type": "file", "file": {"file_data": "data:,", "filename": "a.pdf"}},
            {"type": "input_video", "url": "https://x/y.mp4"},
        ]}])
    );
}

#[rstest]
#[case(json!([{"type": "web_search_call", "id": "ws"}]), "`web_search_call`")]
#[case(json!([{"type": "item_reference", "id": "x"}]), "`item_reference`")]
#[case(json!([{"role": "user", "content": [{"type": "input_image", "file_id": "f"}]}]), "`input_image`")]
#[case(json!([{"role": "user", "content": [{"type": "input_file", "file_url": "u"}]}]), "`input_file`")]
#[case(
    json!([{"type": "function_call_output", "call_id": "c", "output": [{"type": "input_image"}]}]),
    "`input_image`"
)]
fn an_item_the_api_cannot_express_is_refused_by_kind(#[case] input: Value, #[case] named: &str) {
    let error = messages(input).expect_err("a refusal");
    assert_eq!(error.kind, ModelFailureKind::Unsupported);
    assert!(error.message.contains(named), "{}", error.message);
}

#[rstest]
#[case(json!({"truncation": "auto"}), "`truncation`")]
#[case(json!({"response_include": ["x"]}), "`response_include`")]
#[case(json!({"context_management": []}), "`context_management`")]
#[case(json!({"reasoning": {"effort": "low", "summary": "auto"}}), "`reasoning.summary`")]
#[case(json!({"tool_choice": {"server_label": "s", "name": "n"}}), "hosted MCP")]
fn a_setting_the_api_does_not_have_is_refused_by_name(#[case] settings: Value, #[case] named: &str) {
    let error = refusal(definitions(settings));
    assert_eq!(error.kind, ModelFailureKind::Unsupported);
    assert!(error.message.contains(named), "{}", error.message);
}

#[test]
fn hosted_tools_and_server_side_state_are_refused() {
    let hosted = ToolSpec::Hosted { name: "web_search".into(), config: serde_json::Map::new() };
    let error = refusal(Definitions { tools: vec![hosted], ..Definitions::default() });
    assert!(error.message.contains("`web_search`"), "{}", error.message);

    let mut call = ModelCall::new("agent", "m", Definitions::default(), Vec::new());
    call.previous_response_id = Some("resp_1".into());
    let error = request::project("m", call).expect_err("a refusal");
    assert_eq!(error.message, "unsupported: the Chat Completions API has no `previous_response_id`; remove it");
}

#[test]
fn a_completion_becomes_the_items_of_a_response() {
    let message = json!({
        "role": "assistant", "content": "looking", "refusal": null, "annotations": [],
        "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}},
            {"type": "function", "function": {"name": "g", "arguments": {"a": 1}}},
        ],
    });
    assert_eq!(
        output_of(&message),
        json!([
            {"type": "message", "role": "assistant",
             "content": [{"type": "output_text", "text": "looking", "annotations": [], "logprobs": []}]},
            {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{}"},
            {"type": "function_call", "call_id": "c1_1", "name": "g", "arguments": "{\"a\":1}"},
        ])
    );
}

#[test]
fn a_refusal_is_a_part_of_its_own() {
    assert_eq!(
        output_of(&json!({"role": "assistant", "content": "", "refusal": "no"})),
        json!([{"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}])
    );
}

#[test]
fn empty_text_is_an_answer_where_there_is_nothing_else() {
    assert_eq!(
        output_of(&json!({"role": "assistant", "content": ""})),
        json!([{"type": "message", "role": "assistant",
                "content": [{"type": "output_text", "text": "", "annotations": [], "logprobs": []}]}])
    );
}

#[rstest]
#[case::beside_text(json!({"role": "assistant", "content": "hi", "reasoning_content": "r", "audio": null}), json!(
    {"role": "assistant", "content": "hi", "reasoning_content": "r"}
))]
#[case::beside_calls(
    json!({"role": "assistant", "content": "", "reasoning_content": "r", "tool_calls": [
        {"id": "c1", "type": "function", "index": 0, "function": {"name": "f", "arguments": "{}"},
         "extra_content": {"google": {"thought_signature": "s"}}},
    ]}),
    json!({"role": "assistant", "content": null, "reasoning_content": "r", "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"},
         "extra_content": {"google": {"thought_signature": "s"}}},
    ]})
)]
#[case::part_of_an_unknown_kind(
    json!({"role": "assistant", "content": [{"type": "thinking", "thinking": "t"}, {"type": "text", "text": "hi"}]}),
    json!({"role": "assistant", "content": [{"type": "thinking", "thinking": "t"}, {"type": "text", "text": "hi"}]})
)]
fn what_only_the_server_understands_goes_back_to_it(#[case] message: Value, #[case] sent_back: Value) {
    assert_eq!(messages(output_of(&message)).expect("messages"), json!([sent_back]));
}

#[rstest]
#[case("stop", None)]
#[case("tool_calls", None)]
#[case("length", Some("max_output_tokens"))]
#[case("content_filter", Some("content_filter"))]
fn a_finish_reason_tells_whether_the_answer_is_whole(#[case] reason: &str, #[case] incomplete: Option<&str>) {
    let body = json!({"choices": [{"message": {"content": "x"}, "finish_reason": reason}]});
    assert_eq!(read(&body).expect("a completion").incomplete.as_deref(), incomplete);
}

#[test]
fn counts_have_other_names() {
    let body = json!({
        "choices": [{"message": {"content": "x"}}],
        "usage": {
            "prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 3},
            "completion_tokens": 5, "completion_tokens_details": {"reasoning_tokens": 4},
        },
    });
    let mut expected = Usage::of_tokens(10, 5);
    expected.input_tokens_details.cached_tokens = 3;
    expected.output_tokens_details.reasoning_tokens = 4;
    assert_eq!(read(&body).expect("a completion").usage, expected);
}

#[rstest]
#[case(json!({}), "the completion has no choices: {}")]
#[case(json!({"choices": []}), "the completion has an empty list of choices: {\"choices\":[]}")]
#[case(json!({"choices": [{}]}), "the first choice has no message: {\"choices\":[{}]}")]
fn what_is_no_completion_is_a_failure(#[case] body: Value, #[case] message: &str) {
    let error = read(&body).expect_err("a failure");
    assert_eq!(error.kind, ModelFailureKind::InvalidResponse);
    assert_eq!(error.message, format!("invalid response (200): {message}"));
}

#[test]
fn stream_cut_anywhere_is_whole_or_an_error() {
    let streams =
        crate::provider::http::streaming::prefixes::check::<super::events::CompletionEvents>("chat", |answer| {
            response::project(answer, false)
        });
    assert!(streams >= 16, "{streams} streams");
}
