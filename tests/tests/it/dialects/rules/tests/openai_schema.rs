//! Cases of OpenAI's schemas, in the Chat Completions form and in the Responses form.

use serde_json::{Value, json};

use super::Case;
use crate::dialects::rules::Api;

fn chat(function: &Value) -> Value {
    json!({
        "messages": [{"role": "user", "content": "Hello"}],
        "tools": [{"type": "function", "function": function}],
    })
}

fn responses(function: &Value) -> Value {
    let mut tool = function.clone();
    tool["type"] = json!("function");
    json!({"input": "Hello", "tools": [tool]})
}

/// Makes a case of each form.
fn function_cases(rule: &'static str, breaks: &Value, holds: &Value) -> Vec<Case> {
    vec![
        Case::new(rule, Api::Chat, chat(breaks), chat(holds)),
        Case::new(rule, Api::Responses, responses(breaks), responses(holds)),
    ]
}

fn format_cases(rule: &'static str, breaks: &Value, holds: &Value) -> Vec<Case> {
    let chat = |format: &Value| {
        json!({
            "messages": [{"role": "user", "content": "Hello"}],
            "response_format": {"type": "json_schema", "json_schema": format},
        })
    };
    let responses = |format: &Value| {
        let mut format = format.clone();
        format["type"] = json!("json_schema");
        json!({"input": "Hello", "text": {"format": format}})
    };
    vec![
        Case::new(rule, Api::Chat, chat(breaks), chat(holds)),
        Case::new(rule, Api::Responses, responses(breaks), responses(holds)),
    ]
}

/// A strict function whose schema has the property `value`.
pub(super) fn strict(property: &Value) -> Value {
    json!({
        "name": "lookup",
        "strict": true,
        "parameters": {
            "type": "object",
            "properties": {"value": property},
            "required": ["value"],
            "additionalProperties": false,
            "$defs": {"word": {"type": "string"}},
        },
    })
}

fn strict_cases(rule: &'static str, breaks: &Value, holds: &Value) -> Vec<Case> {
    function_cases(rule, &strict(breaks), &strict(holds))
}

/// An object with a number of required properties.
pub(super) fn wide(count: usize) -> Value {
    let names: Vec<String> = (0..count).map(|index| format!("p{index}")).collect();
    let properties: serde_json::Map<_, _> =
        names.iter().map(|name| (name.clone(), json!({"type": "string"}))).collect();
    json!({
        "type": "object",
        "properties": properties,
        "required": names,
        "additionalProperties": false,
    })
}

/// Objects inside each other.
pub(super) fn deep(levels: usize) -> Value {
    let mut schema = json!({"type": "string"});
    for _ in 0..levels {
        schema = json!({
            "type": "object",
            "properties": {"value": schema},
            "required": ["value"],
            "additionalProperties": false,
        });
    }
    schema
}

pub(super) fn cases() -> Vec<Case> {
    let named = |name: &str| json!({"name": name});
    let with_schema = |parameters: Value| json!({"name": "lookup", "parameters": parameters});
    let object = json!({"type": "object", "properties": {}});
    let fine = with_schema(object);
    let text = json!({"type": "string"});
    let list = json!({"type": "array", "items": text});
    let format = |name: &str, schema: Value| json!({"name": name, "schema": schema, "strict": true});
    let optional = json!({
        "type": "object",
        "properties": {"a": text},
        "required": [],
        "additionalProperties": false,
    });
    let values = |count: usize, length: usize| {
        let values: Vec<String> = (0..count).map(|index| format!("{index:0length$}")).collect();
        json!({"type": "string", "enum": values})
    };
    let reference = json!({"$ref": "#/$defs/word"});
    let described = json!({"$ref": "#/$defs/word", "description": "A word."});
    let uri = json!({"type": "string", "format": "uri"});
    let uuid = json!({"type": "string", "format": "uuid", "pattern": "^a", "default": "a"});
    vec![
        function_cases("openai/function-name-pattern", &named("look.up"), &named("look-up_1")),
        function_cases("openai/function-name-length", &named(&"n".repeat(65)), &named(&"n".repeat(64))),
        format_cases("openai/format-name", &format("my answer", wide(1)), &format("a", wide(1))),
        function_cases("openai/function-root-type", &with_schema(json!({})), &fine),
        function_cases("openai/function-root-combinator", &with_schema(json!({"type": "object", "oneOf": []})), &fine),
        function_cases(
            "openai/array-items",
            &with_schema(json!({"type": "object", "properties": {"a": {"type": "array"}}})),
            &with_schema(json!({"type": "object", "properties": {"a": list}})),
        ),
        format_cases("openai/strict-root", &format("a", list.clone()), &format("a", wide(1))),
        strict_cases("openai/strict-required", &optional, &wide(2)),
        strict_cases("openai/strict-additional-properties", &json!({"type": "object"}), &wide(0)),
        strict_cases("openai/strict-keyword", &json!({"oneOf": [text]}), &json!({"anyOf": [text]})),
        strict_cases("openai/strict-format", &uri, &uuid),
        strict_cases("openai/strict-ref-siblings", &described, &reference),
        strict_cases("openai/strict-type", &json!({}), &json!({"enum": ["a"]})),
        strict_cases("openai/strict-property-limit", &wide(5000), &wide(4999)),
        strict_cases("openai/strict-depth-limit", &deep(10), &deep(9)),
        strict_cases(
            "openai/strict-string-limit",
            &json!({"type": "string", "const": "c".repeat(120_000)}),
            &json!({"type": "string", "const": "c".repeat(119_000)}),
        ),
        strict_cases("openai/strict-enum-limit", &values(1001, 4), &values(1000, 4)),
        strict_cases("openai/strict-enum-limit", &values(251, 60), &values(250, 61)),
    ]
    .into_iter()
    .flatten()
    .collect()
}
