//! Cases of Chat Completions.

use serde_json::{Value, json};

use super::{Case, with};
use crate::dialects::rules::Api;

/// A body whose model called two tools and got their results.
pub(super) fn base() -> Value {
    let call = |id: &str| {
        let function = json!({"name": "lookup", "arguments": "{}"});
        json!({"id": id, "type": "function", "function": function})
    };
    json!({
        "model": "some-model",
        "tools": [{
            "type": "function",
            "function": {
                "name": "lookup",
                "parameters": {"type": "object", "properties": {"word": {"type": "string"}}},
            },
        }],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "What is a toise?"}]},
            {
                "role": "assistant",
                "content": null,
                "tool_calls": [call("callAAAA1"), call("callAAAA2")],
            },
            {"role": "tool", "tool_call_id": "callAAAA2", "content": "1.949 m"},
            {"role": "tool", "tool_call_id": "callAAAA1", "content": "6 feet"},
        ],
    })
}

fn case(rule: &'static str, edits: &[(&str, Value)]) -> Case {
    Case::new(rule, Api::Chat, with(base(), edits), base())
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = message_cases();
    cases.extend(request_cases());
    cases
}

fn message_cases() -> Vec<Case> {
    let messages = base()["messages"].clone();
    let user = json!({"role": "user", "content": "Go on."});
    let image = json!([{"type": "image_url", "image_url": {"url": "data:image/png;base64,"}}]);
    let long_id = json!("c".repeat(65));
    let calls = |count: usize| {
        let call = &messages[1]["tool_calls"][0];
        json!(vec![call; count])
    };
    vec![
        case("chat/messages-empty", &[("/messages", json!([]))]),
        case("chat/tool-calls-limit", &[("/messages/1/tool_calls", calls(129))]),
        case(
            "chat/tool-calls-empty",
            &[("/messages/1/tool_calls", json!([])), ("/messages/1/content", json!("It is."))],
        ),
        case(
            "chat/tool-calls-unanswered",
            &[("/messages", json!([messages[0], messages[1], messages[2], user, messages[3]]))],
        ),
        case("chat/tool-calls-unanswered", &[("/messages", json!([messages[0], messages[1]]))]),
        case("chat/tool-without-call", &[("/messages", json!([messages[0], messages[2]]))]),
        case("chat/tool-without-call", &[("/messages/3/tool_call_id", json!("other"))]),
        case(
            "chat/call-id-length",
            &[("/messages/1/tool_calls/0/id", long_id.clone()), ("/messages/3/tool_call_id", long_id)],
        ),
        case("chat/content-null", &[("/messages/0/content", json!(null))]),
        case("chat/content-null", &[("/messages", json!([{"role": "assistant"}]))]),
        Case::new(
            "chat/image-not-user",
            Api::Chat,
            with(base(), &[("/messages/2/content", image.clone())]),
            with(base(), &[("/messages/0/content", image)]),
        ),
        case("chat/call-arguments-string", &[("/messages/1/tool_calls/0/function/arguments", json!({}))]),
    ]
}

fn request_cases() -> Vec<Case> {
    let tool = &base()["tools"][0];
    let tools = |count: usize| with(base(), &[("/tools", json!(vec![tool; count]))]);
    let effort = |effort: &str| with(base(), &[("/reasoning_effort", json!(effort))]);
    let sampling = |name: &str, value: Value| with(base(), &[(name, value)]);
    let json_object = |text: &str| {
        let edits = [("/response_format", json!({"type": "json_object"})), ("/messages/0/content", json!(text))];
        with(base(), &edits)
    };
    let without_tools = |name: &str, value: Value| with(base(), &[("/tools", json!(null)), (name, value)]);
    vec![
        case("chat/tools-empty", &[("/tools", json!([]))]),
        Case::new("chat/tools-limit", Api::Chat, tools(129), tools(128)),
        Case::new(
            "chat/tool-choice-without-tools",
            Api::Chat,
            without_tools("/tool_choice", json!("auto")),
            with(base(), &[("/tool_choice", json!("auto"))]),
        ),
        Case::new(
            "chat/parallel-without-tools",
            Api::Chat,
            without_tools("/parallel_tool_calls", json!(false)),
            with(base(), &[("/parallel_tool_calls", json!(false))]),
        ),
        Case::new(
            "chat/max-tokens-unsupported",
            Api::Chat,
            sampling("/max_tokens", json!(10)),
            sampling("/max_completion_tokens", json!(10)),
        )
        .model("o4-mini"),
        Case::new(
            "chat/sampling-unsupported",
            Api::Chat,
            sampling("/temperature", json!(0.7)),
            sampling("/temperature", json!(1)),
        )
        .model("gpt-5-mini"),
        Case::new(
            "chat/sampling-unsupported",
            Api::Chat,
            sampling("/frequency_penalty", json!(0.7)),
            sampling("/frequency_penalty", json!(0)),
        )
        .model("o3"),
        Case::new(
            "chat/sampling-unsupported",
            Api::Chat,
            sampling("/logprobs", json!(true)),
            sampling("/logprobs", json!(false)),
        )
        .model("gpt-5"),
        Case::new("chat/reasoning-with-tools", Api::Chat, effort("low"), effort("none")).model("gpt-5.4"),
        Case::new("chat/reasoning-with-tools", Api::Chat, base(), effort("none")).model("gpt-5.6"),
        Case::new("chat/json-word", Api::Chat, json_object("Answer."), json_object("Answer in JSON.")),
    ]
}
