//! Cases of Azure OpenAI.

use serde_json::{Value, json};

use super::Case;
use super::openai_schema::{deep, strict, wide};
use crate::dialects::rules::Api;

fn chat(function: &Value) -> Value {
    json!({
        "messages": [{"role": "user", "content": "Hello"}],
        "tools": [{"type": "function", "function": function}],
    })
}

fn responses(function: &Value) -> Value {
    let schema = &function["parameters"];
    let format = json!({"type": "json_schema", "name": "a", "strict": true, "schema": schema});
    json!({"input": "Hello", "text": {"format": format}})
}

fn strict_cases(rule: &'static str, breaks: &Value, holds: &Value) -> Vec<Case> {
    let breaks = strict(breaks);
    let holds = strict(holds);
    vec![
        Case::new(rule, Api::AzureChat, chat(&breaks), chat(&holds)),
        Case::new(rule, Api::AzureResponses, responses(&breaks), responses(&holds)),
    ]
}

pub(super) fn cases() -> Vec<Case> {
    let text = json!({"type": "string", "default": null, "enum": ["a"]});
    let described = |length: usize| json!({"name": "lookup", "description": "d".repeat(length)});
    vec![
        strict_cases("azure/strict-keyword", &json!({"type": "string", "minLength": 1}), &text),
        strict_cases("azure/strict-default", &json!({"type": "string", "default": "a"}), &text),
        strict_cases("azure/strict-property-limit", &wide(100), &wide(99)),
        strict_cases("azure/strict-depth-limit", &deep(5), &deep(4)),
        vec![Case::new("azure/description-length", Api::AzureChat, chat(&described(1025)), chat(&described(1024)))],
    ]
    .into_iter()
    .flatten()
    .collect()
}
