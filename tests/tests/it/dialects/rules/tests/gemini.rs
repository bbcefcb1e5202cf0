//! Cases of Gemini.

use serde_json::{Value, json};

use super::{Case, with};
use crate::dialects::rules::Api;

/// A body whose model called two functions and got their responses.
fn base() -> Value {
    json!({
        "contents": [
            {"role": "user", "parts": [{"text": "What is a toise?"}]},
            {
                "role": "model",
                "parts": [
                    {"functionCall": {"name": "lookup", "args": {}}, "thoughtSignature": "c2ln"},
                    {"functionCall": {"name": "lookup"}},
                ],
            },
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"name": "lookup", "response": {"output": "1.949 m"}}},
                    {"functionResponse": {"name": "lookup", "response": {"output": "6 feet"}}},
                ],
            },
        ],
        "tools": [{
            "functionDeclarations": [{
                "name": "lookup",
                "parametersJsonSchema": {
                    "type": "object",
                    "properties": {"word": {"$ref": "#/$defs/word"}},
                    "required": ["word"],
                    "$defs": {"word": {"type": ["string", "null"], "not": {"const": 1}}},
                },
            }],
        }],
        "generationConfig": {},
    })
}

fn case(rule: &'static str, edits: &[(&str, Value)]) -> Case {
    Case::new(rule, Api::Gemini, with(base(), edits), base())
}

/// A body with Gemini's own schema that has the property `value`.
fn own(property: &Value) -> Value {
    let parameters = json!({"type": "OBJECT", "properties": {"value": property}});
    let declaration = json!({"name": "lookup", "parameters": parameters});
    with(base(), &[("/tools/0/functionDeclarations/0", declaration)])
}

fn own_case(rule: &'static str, breaks: &Value, holds: &Value) -> Case {
    Case::new(rule, Api::Gemini, own(breaks), own(holds))
}

pub(super) fn cases() -> Vec<Case> {
    let schema = "/tools/0/functionDeclarations/0/parametersJsonSchema";
    let name = "/tools/0/functionDeclarations/0/name";
    let contents = |indexes: &[usize]| {
        let contents: Vec<Value> = indexes.iter().map(|index| base()["contents"][*index].clone()).collect();
        json!(contents)
    };
    let response = "/contents/2/parts/0/functionResponse/response";
    let described = json!({"$ref": "#/$defs/word", "description": "A word."});
    let tree = |required: &[&str]| {
        json!({
            "type": "object",
            "properties": {"next": {"$ref": "#"}},
            "required": required,
        })
    };
    let config = |config: Value| with(base(), &[("/generationConfig", config)]);
    let typed = json!({"responseMimeType": "application/json", "responseJsonSchema": {}});
    let text = json!({"type": "STRING", "nullable": true, "enum": ["a"], "format": "enum"});
    vec![
        case("gemini/contents-empty", &[("/contents", json!([]))]),
        case("gemini/parts-empty", &[("/contents/0/parts", json!([]))]),
        case("gemini/part-empty", &[("/contents/0/parts/0/text", json!(""))]),
        case("gemini/part-empty", &[("/contents/0/parts/0", json!({"thought": true}))]),
        case("gemini/role", &[("/contents/0/role", json!("system"))]),
        case("gemini/function-name", &[(name, json!("1st"))]),
        Case::new(
            "gemini/function-name",
            Api::Gemini,
            with(base(), &[(name, json!("look up"))]),
            with(base(), &[(name, json!("_look.up:1-a"))]),
        ),
        case(
            "gemini/parameters-exclusive",
            &[("/tools/0/functionDeclarations/0/parameters", json!({"type": "OBJECT"}))],
        ),
        Case::new(
            "gemini/response-mime-type",
            Api::Gemini,
            config(json!({"responseJsonSchema": {}})),
            config(typed.clone()),
        ),
        case("gemini/ref-siblings", &[(&format!("{schema}/properties/word"), described)]),
        Case::new(
            "gemini/recursive-required",
            Api::Gemini,
            with(base(), &[(schema, tree(&["next"]))]),
            with(base(), &[(schema, tree(&[]))]),
        ),
        own_case("gemini/schema-unknown-field", &json!({"type": "STRING", "const": "a"}), &text),
        own_case("gemini/schema-type-list", &json!({"type": ["string", "null"]}), &text),
        own_case("gemini/schema-enum-string", &json!({"type": "INTEGER", "enum": [1]}), &text),
        Case::new(
            "gemini/json-with-tools",
            Api::Gemini,
            config(typed.clone()),
            with(config(typed), &[("/tools", json!(null))]),
        )
        .model("gemini-2.5-flash"),
        case("gemini/response-count", &[("/contents/2/parts", json!([base()["contents"][2]["parts"][0]]))]),
        case("gemini/response-turn", &[("/contents", contents(&[0, 2]))]),
        case("gemini/call-turn", &[("/contents", contents(&[1, 2]))]),
        case("gemini/response-object", &[(response, json!("1.949 m"))]),
        case("gemini/response-object", &[(response, json!(null))]),
        case("gemini/args-object", &[("/contents/1/parts/0/functionCall/args", json!([]))]),
        case("gemini/thought-signature", &[("/contents/1/parts/0/thoughtSignature", json!(null))]),
    ]
}
