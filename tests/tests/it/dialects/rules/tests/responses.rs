//! Cases of Responses.

use serde_json::{Value, json};

use super::{Case, with};
use crate::dialects::rules::Api;

/// A body whose model reasoned, called a tool and got its output.
fn base() -> Value {
    json!({
        "model": "gpt-5",
        "tools": [{"type": "function", "name": "lookup", "parameters": {"type": "object"}}],
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "What is a toise?"}]},
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "Z0FB"},
            {
                "type": "function_call",
                "id": "fc_1",
                "call_id": "call_1",
                "name": "lookup",
                "arguments": "{}",
            },
            {"type": "function_call_output", "call_id": "call_1", "output": "1.949 m"},
            {
                "type": "message",
                "id": "msg_1",
                "role": "assistant",
                "content": [{"type": "output_text", "text": "A unit of length."}],
            },
            {"role": "user", "content": "Go on."},
        ],
    })
}

fn case(rule: &'static str, edits: &[(&str, Value)]) -> Case {
    Case::new(rule, Api::Responses, with(base(), edits), base()).model("gpt-5")
}

pub(super) fn cases() -> Vec<Case> {
    let long = json!(format!("fc_{}", "1".repeat(62)));
    let items = |indexes: &[usize]| {
        let items: Vec<Value> = indexes.iter().map(|index| base()["input"][*index].clone()).collect();
        json!(items)
    };
    let json_object = |instructions: &str| {
        let edits = [("/text", json!({"format": {"type": "json_object"}})), ("/instructions", json!(instructions))];
        with(base(), &edits)
    };
    let encrypted = json!(["reasoning.encrypted_content"]);
    let plain = with(base(), &[("/input", json!("Hello"))]);
    let answer = json!({"output": items(&[1, 2])});
    vec![
        case("responses/tool-shape", &[("/tools/0", json!({"type": "function", "function": {"name": "lookup"}}))]),
        case("responses/tool-choice-without-tools", &[("/tools", json!([])), ("/tool_choice", json!("required"))]),
        case("responses/unknown-parameter", &[("/max_tokens", json!(100))]),
        case("responses/content-type", &[("/input/4/content/0/type", json!("input_text"))]),
        case("responses/content-type", &[("/input/0/content/0/type", json!("output_text"))]),
        case(
            "responses/call-id-length",
            &[("/input/2/call_id", json!("c".repeat(65))), ("/input/3/call_id", json!("c".repeat(65)))],
        ),
        case("responses/item-id-prefix", &[("/input/2/id", json!("call_1"))]),
        case("responses/item-id-characters", &[("/input/4/id", json!(""))]),
        case("responses/item-id-length", &[("/input/2/id", long)]),
        case("responses/call-unanswered", &[("/input", items(&[0, 1, 2, 4, 5]))]),
        Case::new(
            "responses/output-without-call",
            Api::Responses,
            with(base(), &[("/input", items(&[0, 3]))]),
            with(base(), &[("/input", items(&[3])), ("/previous_response_id", json!("resp_1"))]),
        )
        .model("gpt-5"),
        case("responses/reasoning-without-following", &[("/input", items(&[0, 1]))]),
        case("responses/reasoning-without-following", &[("/input", items(&[1, 5]))]),
        case("responses/item-without-reasoning", &[("/input", items(&[0, 2, 3, 4]))]).after(answer),
        case("responses/reasoning-summary", &[("/input/1/summary", json!(null))]),
        Case::new("responses/reasoning-for-plain-model", Api::Responses, base(), plain.clone()),
        Case::new(
            "responses/encrypted-content-unsupported",
            Api::Responses,
            with(plain.clone(), &[("/include", encrypted.clone())]),
            with(plain, &[("/include", json!(["file_search_call.results"]))]),
        ),
        Case::new(
            "responses/reasoning-not-persisted",
            Api::Responses,
            with(base(), &[("/store", json!(false)), ("/input/1/encrypted_content", json!(null))]),
            with(base(), &[("/store", json!(false)), ("/include", encrypted)]),
        )
        .model("o3"),
        case("responses/sampling-unsupported", &[("/temperature", json!(0.5))]),
        Case::new(
            "responses/sampling-unsupported",
            Api::Responses,
            with(base(), &[("/top_p", json!(0.5)), ("/reasoning", json!({"effort": "low"}))]),
            with(base(), &[("/top_p", json!(0.5)), ("/reasoning", json!({"effort": "none"}))]),
        )
        .model("gpt-5.2"),
        Case::new("responses/json-word", Api::Responses, json_object("Be brief."), json_object("Answer in JSON."))
            .model("gpt-5"),
    ]
}
