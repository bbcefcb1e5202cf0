//! The rules of xAI's Chat Completions form.
//!
//! xAI treats every tool schema as strict.

use serde_json::Value;

use crate::dialects::rules::names::bare_model;
use crate::dialects::rules::report::{Report, child, is_filled, is_given};
use crate::dialects::rules::schema_walk::{Cycle, Node, Position, cyclic_refs, nodes};
use crate::dialects::rules::{chat, chat_messages};

pub(crate) const RULES: &[&str] = &[
    "xai/schema-empty-union",
    "xai/schema-boolean-property",
    "xai/schema-contains-count",
    "xai/schema-items-array",
    "xai/schema-recursive",
    "xai/penalty-unsupported",
    "xai/reasoning-effort-unsupported",
    "xai/content-empty",
];

/// Reports the rules that the body breaks.
pub(crate) fn check(report: &mut Report, model: &str, body: &Value) {
    let model = bare_model(model);
    if ["grok-4", "grok-3-mini"].iter().any(|prefix| model.starts_with(prefix)) {
        for name in ["presence_penalty", "frequency_penalty"] {
            if is_given(&body[name]) {
                let detail = format!("{name} is {}", body[name]);
                report.refuse("xai/penalty-unsupported", child("", name), detail);
            }
        }
    }
    if refuses_effort(&model) && is_given(&body["reasoning_effort"]) {
        let detail = format!("reasoning_effort is {}", body["reasoning_effort"]);
        report.refuse("xai/reasoning-effort-unsupported", "/reasoning_effort", detail);
    }
    chat_messages::check_pairs(report, body);
    for (at, message) in chat_messages::messages(body) {
        let is_empty = message["content"] == "" || message["content"] == Value::Array(Vec::new());
        if is_empty && !is_filled(&message["tool_calls"]) {
            let detail = format!("a message of {} is empty", message["role"]);
            report.refuse("xai/content-empty", child(&at, "content"), detail);
        }
    }
    let format = &body["response_format"]["json_schema"]["schema"];
    let format = ("/response_format/json_schema/schema".to_owned(), format);
    let tools = chat::functions(body).map(|(at, function)| (child(&at, "parameters"), &function["parameters"]));
    for (at, schema) in tools.chain([format]) {
        for node in nodes(schema, &at) {
            check_node(report, &node);
        }
        for (at, target) in cyclic_refs(schema, &at, Cycle::Any) {
            let detail = format!("{target} leads back to itself");
            report.refuse("xai/schema-recursive", at, detail);
        }
    }
}

/// Returns whether reports say that the model refuses `reasoning_effort`.
fn refuses_effort(model: &str) -> bool {
    let prefixes = ["grok-4-1", "grok-4-0709", "grok-4-fast", "grok-code"];
    let is_plain_3 = model.starts_with("grok-3") && !model.starts_with("grok-3-mini");
    is_plain_3 || prefixes.iter().any(|prefix| model.starts_with(prefix))
}

fn check_node(report: &mut Report, node: &Node<'_>) {
    for keyword in ["enum", "anyOf"] {
        if node.keyword(keyword).as_array().is_some_and(Vec::is_empty) {
            let at = child(&node.at, keyword);
            report.refuse("xai/schema-empty-union", at, format!("{keyword} is empty"));
        }
    }
    if node.position == Position::Property && node.schema.is_boolean() {
        let detail = format!("the schema of the property is {}", node.schema);
        report.refuse("xai/schema-boolean-property", node.at.clone(), detail);
    }
    for keyword in ["minContains", "maxContains"] {
        if node.has(keyword) {
            let at = child(&node.at, keyword);
            report.refuse("xai/schema-contains-count", at, format!("{keyword} is given"));
        }
    }
    if node.keyword("items").is_array() {
        let at = child(&node.at, "items");
        report.refuse("xai/schema-items-array", at, "items is an array");
    }
}
