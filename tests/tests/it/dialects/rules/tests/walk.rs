//! The walk visits schemas only.

use serde_json::json;

use crate::dialects::rules::schema_walk::{Cycle, cyclic_refs, nodes};
use crate::dialects::rules::{Api, refusals};

#[test]
fn walk_visits_schema_positions_only() {
    let schema = json!({
        "type": "object",
        "properties": {
            "minimum": {"type": "number"},
            "not": {"type": "array", "items": {"enum": [{"type": "object"}]}},
            "properties": {"const": {"properties": {"inner": {}}}},
        },
        "required": ["minimum"],
        "default": {"items": {"type": "string"}},
        "$defs": {"a/b": {"type": "null"}},
    });
    let visited: Vec<String> = nodes(&schema, "").into_iter().map(|node| node.at).collect();
    let expected = [
        "",
        "/properties/minimum",
        "/properties/not",
        "/properties/not/items",
        "/properties/properties",
        "/$defs/a~1b",
    ];
    assert_eq!(visited, expected);
}

#[test]
fn properties_named_like_keywords_are_not_refused() {
    let names = ["minimum", "oneOf", "not", "if", "format", "pattern", "default", "$ref", "type"];
    let properties: serde_json::Map<_, _> =
        names.iter().map(|name| ((*name).to_owned(), json!({"type": "string"}))).collect();
    let schema = json!({
        "type": "object",
        "properties": properties,
        "required": names,
        "additionalProperties": false,
    });
    let anthropic = json!({
        "max_tokens": 100,
        "messages": [{"role": "user", "content": "Hello"}],
        "tools": [{"name": "lookup", "strict": true, "input_schema": schema}],
    });
    assert_eq!(refusals(Api::Anthropic, "claude-opus-4-5", &anthropic), []);
    let chat = json!({
        "messages": [{"role": "user", "content": "Hello"}],
        "tools": [{
            "type": "function",
            "function": {"name": "lookup", "strict": true, "parameters": schema},
        }],
    });
    for api in [Api::Chat, Api::AzureChat, Api::Xai, Api::Compatible] {
        assert_eq!(refusals(api, "some-model", &chat), []);
    }
    let declarations =
        [json!({"name": "one", "parametersJsonSchema": schema}), json!({"name": "two", "parameters": schema})];
    let gemini = json!({
        "contents": [{"parts": [{"text": "Hello"}]}],
        "tools": [{"functionDeclarations": declarations}],
    });
    assert_eq!(refusals(Api::Gemini, "gemini-2.5-pro", &gemini), []);
}

#[test]
fn optional_properties_end_a_cycle() {
    let schema = |required: &[&str]| {
        json!({
            "$ref": "#/$defs/node",
            "$defs": {
                "node": {
                    "type": "object",
                    "properties": {"next": {"$ref": "#/$defs/link"}},
                    "required": required,
                },
                "link": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]},
            },
        })
    };
    assert_eq!(cyclic_refs(&schema(&[]), "", Cycle::Endless), []);
    assert_eq!(cyclic_refs(&schema(&[]), "", Cycle::Any).len(), 3);
    assert_eq!(cyclic_refs(&schema(&["next"]), "", Cycle::Endless).len(), 3);
}

#[test]
fn repeated_refs_are_not_a_cycle() {
    let schema = json!({
        "type": "object",
        "properties": {"from": {"$ref": "#/$defs/a"}, "to": {"$ref": "#/$defs/a"}},
        "$defs": {"a": {"type": "array", "items": {"$ref": "#/$defs/b"}}, "b": {"type": "string"}},
    });
    assert_eq!(cyclic_refs(&schema, "", Cycle::Any), []);
}
