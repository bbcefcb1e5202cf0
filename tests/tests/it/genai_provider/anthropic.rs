//! Anthropic's Messages API.

use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::wire::{Definitions, Item, ModelFailureKind, ToolSpec};
use wiremock::ResponseTemplate;

use super::{
    CLAUDE, KEY, body, call_of, call_with, claude, exchange, function, header, hello, hello_with, items, refusal, says,
    settings,
};
use crate::support::read;

fn ok() -> Value {
    says(json!([{"type": "text", "text": "hi"}]), "end_turn")
}

#[tokio::test]
async fn the_smallest_call_is_one_small_request() {
    let answer = ResponseTemplate::new(200).set_body_json(ok());
    let (request, response) = exchange("anthropic", CLAUDE, hello(), answer).await;
    assert_eq!((request.method.as_str(), request.url.path(), request.url.query()), ("POST", "/v1/messages", None));
    assert_eq!((header(&request, "x-api-key"), header(&request, "authorization")), (Some(KEY), None));
    assert_eq!(header(&request, "anthropic-version"), Some("2023-06-01"));
    assert!(header(&request, "user-agent").is_some_and(|agent| agent.starts_with("temporal-agents/")));
    assert_eq!(
        body(&request),
        json!({
            "model": CLAUDE,
            "messages": [{"role": "user", "content": "hi"}],
            "max_tokens": 128_000,
        })
    );
    let response = response.expect("a response");
    assert_eq!(
        items(&response),
        json!([{
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "hi", "annotations": [], "logprobs": []}],
        }])
    );
    assert_eq!((response.incomplete, response.response_id, response.raw_usage), (None, None, None));
    assert_eq!(
        serde_json::to_value(&response.usage).expect("usage is JSON"),
        json!({
            "requests": 1,
            "input_tokens": 100,
            "input_tokens_details": {"cached_tokens": 85, "cache_write_tokens": 5},
            "output_tokens": 20,
            "output_tokens_details": {"reasoning_tokens": 7},
            "total_tokens": 120,
        })
    );
}

#[tokio::test]
async fn every_part_of_a_call_has_its_place() {
    let schema = json!({"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"], "additionalProperties": false});
    let definitions = Definitions {
        instructions: Some("be brief".into()),
        tools: vec![function("get_weather", true)],
        handoffs: vec![read(json!({
            "tool_name": "transfer_to_refunds",
            "tool_description": "Refunds",
            "input_json_schema": {"type": "object", "properties": {}},
            "strict": false,
            "agent_name": "refunds",
        }))],
        output: Some(read(json!({"name": "final_output", "schema": schema, "strict": true}))),
        settings: settings(json!({
            "temperature": 0.5,
            "top_p": 0.25,
            "tool_choice": "get_weather",
            "parallel_tool_calls": false,
            "max_tokens": 100,
            "reasoning": {"effort": "low", "summary": "auto"},
            "metadata": {"user_id": "u"},
            "prompt_cache_retention": "1h",
            "include_usage": true,
            "extra_body": {"service_tier": "auto"},
            "extra_headers": {"anthropic-beta": "b1"},
            "extra_args": {"top_k": 5},
            "retry": {"max_retries": 2},
            "timeout": 10.0,
        })),
        ..Definitions::default()
    };
    let call =
        call_with(definitions, json!([{"role": "developer", "content": "rules"}, {"role": "user", "content": "hi"}]));
    let answer = ResponseTemplate::new(200).set_body_json(ok());
    let (request, response) = exchange("anthropic", CLAUDE, call, answer).await;
    response.expect("a response");
    assert_eq!(header(&request, "anthropic-beta"), Some("b1"));
    let sent = body(&request);
    assert_eq!(
        sent,
        json!({
            "model": CLAUDE,
            "system": [
                {"type": "text", "text": "be brief"},
                {"type": "text", "text": "rules", "cache_control": {"type": "ephemeral", "ttl": "1h"}},
            ],
            "tools": [
                {
                    "name": "get_weather",
                    "description": "Weather",
                    "input_schema": {
                        "type": "object",
                        "properties": {"z": {"type": "string"}, "a": {"type": "string"}},
                        "required": ["z", "a"],
                        "additionalProperties": false,
                    },
                    "strict": true,
                },
                {
                    "name": "transfer_to_refunds",
                    "description": "Refunds",
                    "input_schema": {"type": "object", "properties": {}},
                },
            ],
            "tool_choice": {"type": "tool", "name": "get_weather", "disable_parallel_tool_use": true},
            "messages": [{"role": "user", "content": "hi"}],
            "thinking": {"type": "adaptive", "display": "summarized"},
            "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": schema}},
            // Without the temperature, which the API refuses beside thinking.
            "top_p": 0.25,
            "max_tokens": 100,
            "metadata": {"user_id": "u"},
            "service_tier": "auto",
            "top_k": 5,
        })
    );
    // The order of schema keys is the order in which models write.
    assert!(sent["tools"].to_string().contains(r#""properties":{"z":{"type":"string"},"a""#), "{sent}");
}

#[tokio::test]
async fn calls_and_results_go_both_ways() {
    let answer = says(
        json!([
            {"type": "text", "text": "Let me "},
            {"type": "text", "text": "see."},
            {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"z": "Oslo", "a": [1, null]}},
            {"type": "tool_use", "id": "toolu_2", "name": "now", "input": {}},
        ]),
        "tool_use",
    );
    let (_, response) = claude(hello(), answer).await;
    let response = response.expect("a response");
    let output = items(&response);
    let text = |text: &str| json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []});
    let function_call = |id: &str, name: &str, arguments: &str| json!({"type": "function_call", "call_id": id, "name": name, "arguments": arguments});
    assert_eq!(
        output,
        json!([
            {"type": "message", "role": "assistant", "content": [text("Let me "), text("see.")]},
            function_call("toolu_1", "get_weather", r#"{"z":"Oslo","a":[1,null]}"#),
            function_call("toolu_2", "now", "{}"),
        ])
    );
    assert_eq!(response.incomplete, None);

    let mut input = vec![Item::user("hi")];
    input.extend(response.output);
    input.push(Item::function_call_output("toolu_1", json!("sunny")));
    input.push(Item::failed_function_call_output("toolu_2", json!("no clock")));
    input.push(Item::user("and?"));
    let (sent, response) = claude(call_of(serde_json::to_value(input).expect("items are JSON")), ok()).await;
    response.expect("a response");
    assert_eq!(
        sent["messages"],
        json!([
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": [
                {"type": "text", "text": "Let me "},
                {"type": "text", "text": "see."},
                {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"z": "Oslo", "a": [1, null]}},
                {"type": "tool_use", "id": "toolu_2", "name": "now", "input": {}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": "sunny"},
                {"type": "tool_result", "tool_use_id": "toolu_2", "content": "no clock", "is_error": true},
            ]},
            {"role": "user", "content": "and?"},
        ])
    );
}

#[tokio::test]
async fn signed_thinking_goes_back_in_its_place() {
    let thinking = |text: &str, signature: &str| json!({"type": "thinking", "thinking": text, "signature": signature});
    let redacted = json!({"type": "redacted_thinking", "data": "Em8="});
    let tool_use = json!({"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}});
    let said = json!({"type": "text", "text": "One moment."});
    let content = json!([thinking("hm", "sig1"), redacted, said, thinking("so", "sig2"), tool_use]);
    let (_, response) = claude(hello(), says(content, "tool_use")).await;
    let response = response.expect("a response");
    let output = items(&response);
    assert_eq!(
        output[0],
        json!({
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": "hm"}],
            "provider_data": {"genai": {
                "adapter": "anthropic",
                "thoughts": [{"signature": "sig1"}, {"summary": 0}, {"block": redacted}],
            }},
        })
    );
    let kinds: Vec<&str> = response.output.iter().map(Item::kind).collect();
    assert_eq!(kinds, ["reasoning", "message", "reasoning", "function_call"]);

    let mut input = vec![Item::user("hi")];
    input.extend(response.output);
    input.push(Item::function_call_output("toolu_1", json!("42")));
    let input = serde_json::to_value(input).expect("items are JSON");
    let (sent, outcome) = claude(call_of(input.clone()), ok()).await;
    outcome.expect("a response");
    assert_eq!(
        sent["messages"],
        json!([
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": [thinking("hm", "sig1"), redacted, said, thinking("so", "sig2"), tool_use]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "42"}]},
        ])
    );

    // Another provider is shown what was said and called, and no signature.
    let answer = json!({"choices": [{"message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}]});
    let answer = ResponseTemplate::new(200).set_body_json(answer);
    let (request, outcome) = exchange("openai", "openai::gpt-4.1", call_of(input), answer).await;
    outcome.expect("a response");
    assert!(!String::from_utf8_lossy(&request.body).contains("sig1"));
}

#[rstest]
#[case("max_tokens", Some("max_output_tokens"))]
#[case("model_context_window_exceeded", Some("model_context_window_exceeded"))]
#[case("pause_turn", Some("pause_turn"))]
#[case("stop_sequence", None)]
#[tokio::test]
async fn an_answer_that_stops_early_says_why(#[case] reason: &str, #[case] incomplete: Option<&str>) {
    let (_, response) = claude(hello(), says(json!([{"type": "text", "text": "Once"}]), reason)).await;
    let response = response.expect("a response");
    assert_eq!((response.incomplete.as_deref(), response.output[0].text().as_deref()), (incomplete, Some("Once")));
}

#[rstest]
#[case::said_so(json!([{"type": "text", "text": "I won't."}]), "I won't.")]
#[case::without_a_word(json!([]), "The answer was withheld (stop reason refusal).")]
#[tokio::test]
async fn a_refusal_is_one(#[case] content: Value, #[case] refusal: &str) {
    let (_, response) = claude(hello(), says(content, "refusal")).await;
    let response = response.expect("a response");
    assert_eq!(
        items(&response),
        json!([{"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": refusal}]}])
    );
    assert_eq!(response.incomplete.as_deref(), Some("content_filter"));
}

#[tokio::test]
async fn response_that_ends_in_a_call_says_so() {
    let content = json!([
        {"type": "text", "text": "Let me see."},
        {"type": "tool_use", "id": "toolu_1", "name": "transfer", "input": {"from": "a"}},
    ]);
    let (_, response) = claude(hello(), says(content, "max_tokens")).await;
    // The run does not make the calls of such a response (`outcomes`).
    assert_eq!(response.expect("a response").incomplete.as_deref(), Some("max_output_tokens"));
}

#[tokio::test]
async fn images_and_files_are_blocks() {
    let png = "data:image/png;base64,iVBO";
    let content = json!([
        {"type": "input_text", "text": "what is it?"},
        {"type": "input_image", "image_url": png, "detail": "low"},
        {"type": "input_image", "image_url": "https://example.com/a.png"},
        {"type": "input_file", "file_data": "data:application/pdf;base64,JVBE", "filename": "a.pdf"},
        {"type": "input_file", "file_url": "https://example.com/a.pdf"},
    ]);
    let output = json!([{"type": "input_text", "text": "a chart"}, {"type": "input_image", "image_url": png}]);
    let input = json!([
        {"role": "user", "content": content},
        {"type": "function_call", "call_id": "c_1", "name": "draw", "arguments": "not JSON"},
        {"type": "function_call_output", "call_id": "c_1", "output": output},
    ]);
    let (sent, response) = claude(call_of(input), ok()).await;
    response.expect("a response");
    let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"}});
    assert_eq!(
        sent["messages"],
        json!([
            {"role": "user", "content": [
                {"type": "text", "text": "what is it?"},
                image,
                {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}},
                {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBE"}},
                {"type": "document", "source": {"type": "url", "url": "https://example.com/a.pdf"}},
            ]},
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "c_1", "name": "draw", "input": {"INVALID_JSON": "not JSON"}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "c_1", "content": [{"type": "text", "text": "a chart"}, image]},
            ]},
        ])
    );
}

#[tokio::test]
async fn the_providers_own_usage_is_kept_on_request() {
    let (_, response) = claude(hello_with(json!({"preserve_raw_usage": true})), ok()).await;
    let raw = response.expect("a response").raw_usage.expect("it was asked for");
    assert_eq!(raw, ok()["usage"]);
}

#[rstest]
#[case(json!({"truncation": "auto"}), "the anthropic API has no `truncation`; remove it")]
#[case(json!({"frequency_penalty": 1.0}), "the anthropic API has no `frequency_penalty`; remove it")]
#[case(json!({"store": true}), "the anthropic API has no `store`; remove it")]
#[case(json!({"verbosity": "low"}), "the anthropic API has no `verbosity`; remove it")]
#[case(json!({"top_logprobs": 1}), "the anthropic API has no `top_logprobs`; remove it")]
#[case(json!({"reasoning": {"mode": "x"}}), "the anthropic API has no `reasoning.mode`; remove it")]
#[case(
    json!({"reasoning": {"effort": "much"}}),
    "`reasoning.effort` is \"much\"; it is one of none, minimal, low, medium, high, xhigh, max"
)]
#[case(
    json!({"prompt_cache_retention": "24h"}),
    "`prompt_cache_retention` is \"24h\"; the prompt cache supports `in_memory`, `5m` and `1h`"
)]
#[case(
    json!({"extra_headers": {"X-Api-Key": "k"}}),
    "`X-Api-Key` in extra_headers: settings are recorded in history; configure the key in the provider on the worker"
)]
#[case(
    json!({"extra_body": {"stream": true}}),
    "`stream` in the extra arguments: a model call is one request and one response"
)]
#[tokio::test]
async fn a_setting_it_does_not_have_is_refused(#[case] settings: Value, #[case] why: &str) {
    let error = refusal("anthropic", CLAUDE, hello_with(settings)).await;
    assert_eq!(error.kind, ModelFailureKind::Unsupported);
    assert_eq!(error.message, format!("unsupported: {why} (agent \"clerk\", model \"claude-sonnet-4-6\")"));
}

#[tokio::test]
async fn hosted_tools_are_refused() {
    let hosted = ToolSpec::Hosted {
        name: "file_search".into(),
        config: [("type".to_owned(), json!("file_search"))].into_iter().collect(),
    };
    let definitions = Definitions { tools: vec![hosted], ..Definitions::default() };
    assert_eq!(
        refusal("anthropic", CLAUDE, call_with(definitions, json!([]))).await.message,
        "unsupported: anthropic has no hosted tools such as `file_search`; use functions, or a model of \
         provider::OpenAi (agent \"clerk\", model \"claude-sonnet-4-6\")"
    );
}

#[tokio::test]
async fn a_function_may_have_the_name_of_a_hosted_tool() {
    let definitions = Definitions { tools: vec![function("web_search", false)], ..Definitions::default() };
    let (sent, response) = claude(call_with(definitions, json!([{"role": "user", "content": "hi"}])), ok()).await;
    response.expect("a response");
    assert_eq!((&sent["tools"][0]["name"], &sent["tools"][0]["type"]), (&json!("web_search"), &Value::Null));
}

#[tokio::test]
async fn an_extra_query_is_sent() {
    let answer = ResponseTemplate::new(200).set_body_json(ok());
    let (request, response) =
        exchange("anthropic", CLAUDE, hello_with(json!({"extra_query": {"beta": true}})), answer).await;
    response.expect("a response");
    assert_eq!(request.url.query(), Some("beta=true"));
}
