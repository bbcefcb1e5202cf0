//! Cases of Anthropic.

use serde_json::{Value, json};

use super::{Case, with};
use crate::dialects::rules::Api;

/// A body whose conversation calls a tool and gets its result.
fn base() -> Value {
    json!({
        "model": "claude-sonnet-4-5",
        "max_tokens": 4096,
        "system": [{"type": "text", "text": "Be brief."}],
        "tools": [{
            "name": "lookup",
            "description": "Looks up a word.",
            "input_schema": {"type": "object", "properties": {"word": {"type": "string"}}},
        }],
        "messages": [
            {"role": "user", "content": "What is a toise?"},
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "Let me see. "},
                    {"type": "tool_use", "id": "toolu_1", "name": "lookup", "input": {"word": "toise"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "toolu_1", "content": "1.949 m"},
                    {"type": "text", "text": "Go on."},
                ],
            },
        ],
    })
}

fn case(rule: &'static str, edits: &[(&str, Value)]) -> Case {
    Case::new(rule, Api::Anthropic, with(base(), edits), base())
}

/// A body with a strict tool whose schema has the property `value`.
fn strict(property: &Value) -> Value {
    let schema = json!({
        "type": "object",
        "properties": {"value": property},
        "required": ["value"],
        "additionalProperties": false,
        "$defs": {"word": {"type": "string"}},
    });
    with(base(), &[("/tools/0/input_schema", schema), ("/tools/0/strict", json!(true))])
}

fn strict_case(rule: &'static str, breaks: &Value, holds: &Value) -> Case {
    Case::new(rule, Api::Anthropic, strict(breaks), strict(holds))
}

/// A body whose turn thinks and then calls a tool.
fn thinking() -> Value {
    let block = json!({"type": "thinking", "thinking": "A unit.", "signature": "c2ln"});
    with(
        base(),
        &[
            ("/thinking", json!({"type": "enabled", "budget_tokens": 2048})),
            ("/messages/1/content/0", block),
            (
                "/messages/2/content",
                json!([{
                    "type": "tool_result",
                    "tool_use_id": "toolu_1",
                    "content": "1.949 m",
                }]),
            ),
        ],
    )
}

fn thinking_case(rule: &'static str, edits: &[(&str, Value)]) -> Case {
    Case::new(rule, Api::Anthropic, with(thinking(), edits), thinking())
}

fn many_properties(count: usize, schema: &Value) -> Value {
    let properties: serde_json::Map<_, _> = (0..count).map(|index| (format!("p{index}"), schema.clone())).collect();
    json!({"type": "object", "properties": properties, "additionalProperties": false})
}

fn required(count: usize, schema: &Value) -> Value {
    let names: Vec<_> = (0..count).map(|index| format!("p{index}")).collect();
    with(many_properties(count, schema), &[("/required", json!(names))])
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = request_cases();
    cases.extend(tool_cases());
    cases.extend(thinking_cases());
    cases.extend(strict_cases());
    cases
}

fn request_cases() -> Vec<Case> {
    let final_text = |text: &str| {
        with(
            base(),
            &[(
                "/messages",
                json!([
                    {"role": "user", "content": "Hello"},
                    {"role": "assistant", "content": text},
                ]),
            )],
        )
    };
    let cached = |count: usize| {
        let block = json!({"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}});
        with(base(), &[("/system", json!(vec![block; count]))])
    };
    let sampled = |edits: &[(&str, Value)]| with(base(), edits);
    vec![
        case("anthropic/max-tokens-required", &[("/max_tokens", json!(null))]),
        case("anthropic/messages-empty", &[("/messages", json!([]))]),
        case("anthropic/role", &[("/messages/0/role", json!("tool"))]),
        case("anthropic/content-empty", &[("/messages/0/content", json!(""))]),
        Case::new(
            "anthropic/content-empty",
            Api::Anthropic,
            with(base(), &[("/messages/2/content", json!([]))]),
            final_text(""),
        ),
        case("anthropic/text-empty", &[("/messages/1/content/0/text", json!(""))]),
        case("anthropic/text-empty", &[("/system/0/text", json!(""))]),
        case("anthropic/text-blank", &[("/messages/1/content/0/text", json!(" \n"))]),
        case("anthropic/text-blank", &[("/messages/0/content", json!("  "))]),
        Case::new("anthropic/final-whitespace", Api::Anthropic, final_text("It is "), final_text("It is")),
        Case::new("anthropic/prefill-unsupported", Api::Anthropic, final_text("It"), base()).model("claude-opus-4-6"),
        Case::new(
            "anthropic/temperature-and-top-p",
            Api::Anthropic,
            sampled(&[("/temperature", json!(0.5)), ("/top_p", json!(0.9))]),
            sampled(&[("/temperature", json!(0.5))]),
        ),
        Case::new(
            "anthropic/sampling-unsupported",
            Api::Anthropic,
            sampled(&[("/temperature", json!(0.5))]),
            sampled(&[("/temperature", json!(1.0))]),
        )
        .model("claude-opus-4-7"),
        Case::new("anthropic/sampling-unsupported", Api::Anthropic, sampled(&[("/top_k", json!(4))]), base())
            .model("claude-fable-5"),
        Case::new("anthropic/cache-control-limit", Api::Anthropic, cached(5), cached(4)),
    ]
}

fn tool_cases() -> Vec<Case> {
    let call = json!({"type": "tool_use", "id": "toolu_1", "name": "lookup", "input": {}});
    let result = json!({"type": "tool_result", "tool_use_id": "toolu_1", "content": "1.949 m"});
    let text = json!({"type": "text", "text": "Go on."});
    vec![
        case("anthropic/tool-use-in-user", &[("/messages/0/content", json!([call]))]),
        case("anthropic/tool-use-unanswered", &[("/messages/2/content", json!("Go on."))]),
        case("anthropic/tool-use-unanswered", &[("/messages/2/role", json!("assistant"))]),
        case("anthropic/tool-result-unexpected", &[("/messages/1/content", json!("It is."))]),
        case("anthropic/tool-result-not-first", &[("/messages/2/content", json!([text, result]))]),
        case("anthropic/tool-result-duplicate", &[("/messages/2/content", json!([result, result]))]),
        case("anthropic/tool-use-id-duplicate", &[("/messages/1/content", json!([call, call]))]),
        case(
            "anthropic/tool-use-id-pattern",
            &[("/messages/1/content/1/id", json!("call.1")), ("/messages/2/content/0/tool_use_id", json!("call.1"))],
        ),
        case("anthropic/tool-use-input-object", &[("/messages/1/content/1/input", json!("{}"))]),
        case("anthropic/tool-use-input-object", &[("/messages/1/content/1/input", json!(null))]),
        case("anthropic/tool-name-pattern", &[("/tools/0/name", json!("look.up"))]),
        Case::new(
            "anthropic/tool-name-pattern",
            Api::Anthropic,
            with(base(), &[("/tools/0/name", json!("n".repeat(129)))]),
            with(base(), &[("/tools/0/name", json!("n".repeat(128)))]),
        ),
        case("anthropic/tool-name-duplicate", &[("/tools", json!([base()["tools"][0], base()["tools"][0]]))]),
        case("anthropic/tool-schema-root-type", &[("/tools/0/input_schema", json!({}))]),
        case("anthropic/tool-schema-root-combinator", &[("/tools/0/input_schema/anyOf", json!([{"type": "object"}]))]),
        Case::new(
            "anthropic/tool-choice-forced",
            Api::Anthropic,
            with(base(), &[("/tool_choice", json!({"type": "any"}))]),
            with(base(), &[("/tool_choice", json!({"type": "auto"}))]),
        )
        .model("claude-opus-5-5"),
        case(
            "anthropic/tool-choice-without-tools",
            &[("/tool_choice", json!({"type": "auto"})), ("/tools", json!(null))],
        ),
    ]
}

fn thinking_cases() -> Vec<Case> {
    let forced = json!({"type": "tool", "name": "lookup"});
    let last = json!({"type": "thinking", "thinking": "Hm.", "signature": "c2ln"});
    let call = thinking()["messages"][1]["content"][1].clone();
    let adaptive = json!({"type": "adaptive"});
    vec![
        thinking_case("anthropic/tool-choice-with-thinking", &[("/tool_choice", forced)]),
        thinking_case("anthropic/thinking-budget", &[("/thinking/budget_tokens", json!(100))]),
        thinking_case(
            "anthropic/thinking-budget",
            &[("/thinking/budget_tokens", json!(4096)), ("/tools", json!(null))],
        ),
        Case::new(
            "anthropic/thinking-enabled-unsupported",
            Api::Anthropic,
            thinking(),
            with(thinking(), &[("/thinking", adaptive.clone())]),
        )
        .model("claude-opus-4-8"),
        thinking_case("anthropic/thinking-unsigned", &[("/messages/1/content/0/signature", json!(null))]),
        thinking_case("anthropic/thinking-final-block", &[("/messages/1/content", json!([last, call, last]))]),
        thinking_case("anthropic/thinking-first", &[("/messages/1/content", json!([call]))]),
        thinking_case("anthropic/temperature-with-thinking", &[("/temperature", json!(0.2))]),
        Case::new(
            "anthropic/temperature-with-thinking",
            Api::Anthropic,
            with(thinking(), &[("/thinking", adaptive), ("/temperature", json!(0))]),
            with(thinking(), &[("/temperature", json!(1))]),
        )
        .model("claude-opus-4-6"),
        thinking_case("anthropic/thinking-modified", &[("/messages/1/content/0/thinking", json!("Changed."))])
            .after(json!({"content": thinking()["messages"][1]["content"]})),
        thinking_case("anthropic/thinking-modified", &[("/messages/1/content/0/signature", json!("b3RoZXI"))])
            .after(json!({"content": thinking()["messages"][1]["content"]})),
    ]
}

fn strict_cases() -> Vec<Case> {
    let text = json!({"type": "string"});
    let union = json!({"type": ["string", "null"]});
    let object = json!({"type": "object", "properties": {}, "additionalProperties": false});
    let tools = |count: usize| {
        let tools: Vec<Value> = (0..count)
            .map(|index| {
                let name = format!("tool_{index}");
                json!({"name": name, "strict": true, "input_schema": object})
            })
            .collect();
        with(base(), &[("/tools", json!(tools))])
    };
    let schema = |schema: Value| {
        let format = json!({"format": {"type": "json_schema", "schema": schema}});
        with(base(), &[("/output_config", format)])
    };
    let list = |min_items: u64| json!({"type": "array", "items": text, "minItems": min_items});
    let pattern = |pattern: &str| json!({"type": "string", "pattern": pattern});
    let recursive = json!({"type": "array", "items": {"$ref": "#/properties/value"}});
    let mut cases = vec![
        Case::new("anthropic/strict-tool-limit", Api::Anthropic, tools(21), tools(20)),
        Case::new(
            "anthropic/strict-optional-limit",
            Api::Anthropic,
            schema(many_properties(25, &text)),
            schema(many_properties(24, &text)),
        ),
        Case::new(
            "anthropic/strict-union-limit",
            Api::Anthropic,
            schema(required(17, &union)),
            schema(required(16, &union)),
        ),
        strict_case("anthropic/strict-additional-properties", &json!({"type": "object"}), &object),
        strict_case("anthropic/strict-min-items", &list(2), &list(1)),
        strict_case("anthropic/strict-one-of", &json!({"oneOf": [text]}), &json!({"anyOf": [text]})),
        strict_case("anthropic/strict-recursive", &recursive, &json!({"$ref": "#/$defs/word"})),
        strict_case("anthropic/strict-external-ref", &json!({"$ref": "https://example.com/word.json"}), &text),
        strict_case("anthropic/strict-complex-enum", &json!({"enum": [{"a": 1}]}), &json!({"enum": ["a", 1, null]})),
        strict_case(
            "anthropic/strict-allof-ref",
            &json!({"allOf": [{"$ref": "#/$defs/word"}]}),
            &json!({"allOf": [text]}),
        ),
        strict_case("anthropic/strict-keyword", &json!({"type": "number", "minimum": 1}), &text),
    ];
    for refused in [r"^(?!a)", r"(a)\1", r"\bword\b", r"(?<=a)b", r"(?<n>a)\k<n>"] {
        let fine = pattern(r"^[(?=)\b]+(?:a|\\b)\d{2}$");
        cases.push(strict_case("anthropic/strict-pattern", &pattern(refused), &fine));
    }
    cases
}
