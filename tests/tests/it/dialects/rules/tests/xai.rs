//! Cases of xAI.

use serde_json::{Value, json};

use super::{Case, chat, with};
use crate::dialects::rules::Api;

fn schema_case(rule: &'static str, breaks: Value, holds: Value) -> Case {
    let at = "/tools/0/function/parameters/properties/word";
    let body = |schema: Value| with(chat::base(), &[(at, schema)]);
    Case::new(rule, Api::Xai, body(breaks), body(holds))
}

fn case(rule: &'static str, edits: &[(&str, Value)]) -> Case {
    Case::new(rule, Api::Xai, with(chat::base(), edits), chat::base())
}

pub(super) fn cases() -> Vec<Case> {
    let text = json!({"type": "string", "minLength": 1});
    let list = json!({"type": "array", "items": {"type": "string"}});
    let recursive = json!({"type": "array", "items": {"$ref": "#/properties/word"}});
    let counted = json!({"type": "array", "contains": {"type": "string"}, "minContains": 1});
    vec![
        schema_case("xai/schema-empty-union", json!({"anyOf": []}), json!({"anyOf": [text]})),
        schema_case("xai/schema-boolean-property", json!(true), text.clone()),
        schema_case("xai/schema-contains-count", counted, list.clone()),
        schema_case("xai/schema-items-array", json!({"type": "array", "items": [text]}), list),
        schema_case("xai/schema-recursive", recursive, text),
        case("xai/penalty-unsupported", &[("/presence_penalty", json!(0))]),
        case("xai/reasoning-effort-unsupported", &[("/reasoning_effort", json!("low"))]),
        case("xai/content-empty", &[("/messages/0/content", json!(""))]),
        case("chat/messages-empty", &[("/messages", json!([]))]),
        case("chat/tool-without-call", &[("/messages/3/tool_call_id", json!("other"))]),
    ]
}
