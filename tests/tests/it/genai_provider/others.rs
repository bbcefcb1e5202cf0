//! Google's API, Chat Completions, and adapters that take little.

use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::wire::{Definitions, Item, ModelFailureKind, Usage};
use wiremock::ResponseTemplate;

use super::{KEY, body, call_of, call_with, exchange, function, header, hello, hello_with, items, refusal, settings};
use crate::support::read;

const GEMINI: &str = "gemini-2.5-flash";

fn gemini(parts: Value, finish_reason: &str) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(json!({
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": finish_reason, "index": 0}],
        "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 4, "thoughtsTokenCount": 2, "totalTokenCount": 9},
        "modelVersion": GEMINI,
    }))
}

#[tokio::test]
async fn a_round_trip_with_google() {
    let parts = json!([{"functionCall": {"name": "get_weather", "args": {"z": "Oslo"}}, "thoughtSignature": "sigG"}]);
    let definitions = Definitions {
        instructions: Some("be brief".into()),
        tools: vec![function("get_weather", true)],
        settings: settings(json!({"tool_choice": "required", "max_tokens": 100})),
        ..Definitions::default()
    };
    let call = call_with(definitions, json!([{"role": "user", "content": "hi"}]));
    let (request, response) = exchange("gemini", GEMINI, call, gemini(parts, "STOP")).await;
    assert_eq!(request.url.path(), "/v1/models/gemini-2.5-flash:generateContent");
    assert_eq!((header(&request, "x-goog-api-key"), request.url.query()), (Some(KEY), None));
    let sent = body(&request);
    assert_eq!(sent["systemInstruction"], json!({"parts": [{"text": "be brief"}]}));
    assert_eq!(sent["toolConfig"], json!({"functionCallingConfig": {"mode": "ANY"}}));
    assert_eq!(sent["generationConfig"], json!({"maxOutputTokens": 100}));
    assert_eq!(sent["tools"][0]["functionDeclarations"][0]["name"], "get_weather");

    let response = response.expect("a response");
    let mut usage = Usage::of_tokens(3, 6);
    usage.output_tokens_details = response.usage.output_tokens_details.clone();
    assert_eq!((&response.usage, response.usage.output_tokens_details.reasoning_tokens), (&usage, 2));
    let kinds: Vec<&str> = response.output.iter().map(Item::kind).collect();
    assert_eq!(kinds, ["reasoning", "function_call"]);
    let call_id = response.output[1].call_id().expect("a call").to_owned();
    // The crate's own counts begin anew with each answer; a run needs other ids.
    assert!(call_id.starts_with("call#get_weather#") && call_id != "call#get_weather#0", "{call_id}");

    let mut input = vec![Item::user("hi")];
    input.extend(response.output);
    input.push(Item::failed_function_call_output(&call_id, json!("closed")));
    let call = call_of(serde_json::to_value(input).expect("items are JSON"));
    let (request, response) =
        exchange("gemini", GEMINI, call, gemini(json!([{"text": "It is closed."}]), "STOP")).await;
    assert_eq!(
        body(&request)["contents"],
        json!([
            {"role": "user", "parts": [{"text": "hi"}]},
            {"role": "model", "parts": [
                {"functionCall": {"name": "get_weather", "args": {"z": "Oslo"}}, "thoughtSignature": "sigG"},
            ]},
            {"role": "user", "parts": [
                {"functionResponse": {"name": "get_weather", "response": {"name": "get_weather", "content": "closed"}}},
            ]},
        ])
    );
    assert_eq!(response.expect("a response").output[0].text().as_deref(), Some("It is closed."));
}

#[rstest]
#[case::cut(json!([{"text": "Once"}]), "MAX_TOKENS", Some("max_output_tokens"), Some("Once"), None)]
#[case::filtered(json!([]), "SAFETY", Some("content_filter"), Some(""), Some("The answer was withheld (stop reason SAFETY)."))]
#[case::whole(json!([{"text": "Once"}]), "STOP", None, Some("Once"), None)]
#[tokio::test]
async fn google_says_why_it_stops(
    #[case] parts: Value,
    #[case] reason: &str,
    #[case] incomplete: Option<&str>,
    #[case] text: Option<&str>,
    #[case] refusal: Option<&str>,
) {
    let response = exchange("gemini", GEMINI, hello(), gemini(parts, reason)).await.1.expect("a response");
    assert_eq!(response.incomplete.as_deref(), incomplete);
    let message = response.output.first().expect("a message");
    assert_eq!((message.text().as_deref(), message.refusal().as_deref()), (text, refusal));
}

#[tokio::test]
async fn an_answer_of_nothing_is_a_failure() {
    let error = exchange("gemini", GEMINI, hello(), gemini(json!([]), "MALFORMED_FUNCTION_CALL")).await.1;
    let error = error.expect_err("no answer");
    assert_eq!(error.message, "response failed (200): the model stopped with an error (MALFORMED_FUNCTION_CALL)");
    assert_eq!((error.kind, error.should_retry()), (ModelFailureKind::ResponseFailed, true));
}

#[tokio::test]
async fn a_blocked_prompt_is_not_sent_again() {
    let answer = json!({"promptFeedback": {"blockReason": "SAFETY"}});
    let error = exchange("gemini", GEMINI, hello(), ResponseTemplate::new(200).set_body_json(answer)).await.1;
    let error = error.expect_err("no answer");
    assert_eq!(error.message, "bad request (200): the prompt was blocked (SAFETY)");
    assert!(!error.should_retry());
}

fn completion(message: Value, finish_reason: &str) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(json!({
        "id": "chatcmpl-1",
        "model": "gpt-4.1",
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}],
        "usage": {
            "prompt_tokens": 3,
            "prompt_tokens_details": {"cached_tokens": 1},
            "completion_tokens": 4,
            "total_tokens": 7,
        },
    }))
}

#[tokio::test]
async fn a_round_trip_with_chat_completions() {
    let message = json!({
        "role": "assistant",
        "content": null,
        "reasoning_content": "hm",
        "tool_calls": [
            {"id": "c_1", "type": "function", "function": {"name": "f", "arguments": "{\"a\":1}"}},
            {"id": "c_2", "type": "function", "function": {"name": "f", "arguments": "{}"}},
        ],
    });
    let mut call = hello_with(json!({
        "frequency_penalty": 0.5,
        "parallel_tool_calls": true,
        "store": false,
        "verbosity": "low",
        "prompt_cache_retention": "24h",
    }));
    call.definitions.tools = vec![function("f", false)];
    call.definitions.output = Some(read(json!({"name": "o", "schema": {"type": "object"}, "strict": false})));
    let (request, response) = exchange("openai", "openai::gpt-4.1", call, completion(message, "tool_calls")).await;
    assert_eq!(request.url.path(), "/v1/chat/completions");
    assert_eq!(header(&request, "authorization"), Some("Bearer the-secret-key"));
    let mut sent = body(&request);
    let schema = sent["tools"][0]["function"]["parameters"].take();
    assert_eq!(schema["properties"], json!({"z": {"type": "string"}, "a": {"type": "string"}}));
    assert_eq!(
        sent,
        json!({
            "model": "gpt-4.1",
            "stream": false,
            "messages": [{"role": "user", "content": "hi"}],
            "tools": [{
                "type": "function",
                "function": {"name": "f", "description": "Weather", "parameters": null, "strict": false},
            }],
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "o", "schema": {"type": "object", "properties": {}}, "strict": false},
            },
            "frequency_penalty": 0.5,
            "parallel_tool_calls": true,
            "store": false,
            "verbosity": "low",
            "prompt_cache_retention": "24h",
        })
    );
    let response = response.expect("a response");
    assert_eq!((response.usage.total_tokens, response.usage.input_tokens_details.cached_tokens), (7, 1));

    let mut input = vec![Item::user("hi")];
    input.extend(response.output);
    input.push(Item::failed_function_call_output("c_1", json!("42")));
    input.push(Item::function_call_output("c_2", json!([{"type": "input_text", "text": "43"}])));
    let call = call_of(serde_json::to_value(input).expect("items are JSON"));
    let (request, _) =
        exchange("openai", "openai::gpt-4.1", call, completion(json!({"role": "assistant", "content": "ok"}), "stop"))
            .await;
    let function_call = |id: &str, arguments: &str| json!({"type": "function", "id": id, "function": {"name": "f", "arguments": arguments}});
    assert_eq!(
        body(&request)["messages"],
        json!([
            {"role": "user", "content": "hi"},
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [function_call("c_1", "{\"a\":1}"), function_call("c_2", "{}")],
                "reasoning_content": "hm",
            },
            {"role": "tool", "tool_call_id": "c_1", "content": "42"},
            {"role": "tool", "tool_call_id": "c_2", "content": "43"},
        ])
    );
}

#[rstest]
#[case::cut(json!({"content": "Once"}), "length", Some("max_output_tokens"), None)]
#[case::filtered(json!({"content": "Once"}), "content_filter", Some("content_filter"), None)]
#[case::refused(json!({"content": null, "refusal": "No."}), "stop", None, Some("No."))]
#[tokio::test]
async fn chat_completions_say_why_they_stop(
    #[case] message: Value,
    #[case] reason: &str,
    #[case] incomplete: Option<&str>,
    #[case] refusal: Option<&str>,
) {
    let response = exchange("groq", "groq::llama", hello(), completion(message, reason)).await.1.expect("a response");
    assert_eq!(response.incomplete.as_deref(), incomplete);
    assert_eq!(response.output[0].refusal().as_deref(), refusal);
}

#[tokio::test]
async fn reasoning_goes_back_beside_calls_alone() {
    let message = json!({"role": "assistant", "content": "ok", "reasoning_content": "hm"});
    let response =
        exchange("deepseek", "deepseek-chat", hello(), completion(message, "stop")).await.1.expect("a response");
    assert_eq!(items(&response)[0]["summary"], json!([{"type": "summary_text", "text": "hm"}]));
    let call = call_of(items(&response));
    let message = json!({"role": "assistant", "content": "ok"});
    let (request, _) = exchange("deepseek", "deepseek-chat", call, completion(message, "stop")).await;
    assert_eq!(body(&request)["messages"], json!([{"role": "assistant", "content": "ok"}]));
}

#[rstest]
#[case(json!({"extra_body": {"a": 1}}), "the ollama API has no `extra_body`; remove it")]
#[case(json!({"tool_choice": "required"}), "the ollama API has no `tool_choice` through genai; remove it")]
#[case(json!({"metadata": {}}), "the ollama API has no `metadata`; remove it")]
#[tokio::test]
async fn what_an_adapter_would_drop_is_refused(#[case] settings: Value, #[case] why: &str) {
    let mut call = hello_with(settings);
    call.definitions.tools = vec![function("f", false)];
    let error = refusal("ollama", "ollama::qwen3", call).await;
    assert_eq!(error.message, format!("unsupported: {why} (agent \"clerk\", model \"ollama::qwen3\")"));
}

#[tokio::test]
async fn results_that_an_adapter_would_lose_go_one_by_one() {
    let input = json!([
        {"type": "function_call", "call_id": "c_1", "name": "f", "arguments": "{}"},
        {"type": "function_call", "call_id": "c_2", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c_1", "output": "1"},
        {"type": "function_call_output", "call_id": "c_2", "output": "2"},
    ]);
    let answer = json!({"model": "qwen3", "message": {"role": "assistant", "content": "ok"}, "done": true, "done_reason": "stop"});
    let answer = ResponseTemplate::new(200).set_body_json(answer);
    let (request, response) = exchange("ollama", "ollama::qwen3", call_of(input), answer).await;
    let sent = body(&request);
    let roles: Vec<_> = sent["messages"].as_array().expect("messages").iter().map(|m| &m["role"]).collect();
    assert_eq!(roles, ["assistant", "tool", "tool"]);
    assert_eq!(response.expect("a response").output[0].text().as_deref(), Some("ok"));
}

#[tokio::test]
async fn an_adapter_that_loses_tools_is_not_asked() {
    let error = refusal("cohere", "cohere::command-r", hello()).await;
    assert_eq!(error.kind, ModelFailureKind::Unsupported);
    assert!(error.message.starts_with("unsupported: the adapter `cohere` of genai is not served"), "{error}");
}
